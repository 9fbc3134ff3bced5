"""The bus: how the processes of Agiraph reach each other. It knows nothing of agents.

    endpoint --- link --- wire ~~~ socket ~~~ router --- switch --- mailboxes

An actor holds an `Endpoint` (asyncio): it sends, asks, replies, receives. Its `Link` is the
protocol with the router: greeting, resending, acknowledging. A `Wire` carries the frames, over
ZeroMQ or within a process (`loopback`). The `Router` is a synchronous loop round the `RouterCore`,
which decides everything, and the `Mailboxes`, which keep durable messages until their receiver says
done. Link, switch and mailboxes are pure: no socket, no clock.
"""

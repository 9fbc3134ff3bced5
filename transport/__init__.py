"""The bus: the connections between the processes of Agiraph. It is independent of agents.

    endpoint --- link --- wire ~~~ socket ~~~ router --- switch --- mailboxes

An actor has an `Endpoint` (asyncio): it sends, asks, replies, receives. Its `Link` is the protocol
with the router: greeting, resending, acknowledging. A `Wire` carries the frames, over ZeroMQ or
within a process (`loopback`). The `Router` is a synchronous loop around the `RouterCore`, which
makes all decisions, and the `Mailboxes`, which store durable messages until their receiver has
handled them. Link, core and mailboxes are pure: no socket, no clock.
"""

"""A worker that says when it was ready and when it received what: killed by `benchmarks.hand`.

Times are of the monotonic clock, which all processes of one machine share.
"""

import time

from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from agiraph.core.ids import HUMAN
from agiraph.messages import TextMessage

READY = "ready"
QUIET = "quiet"


def main(launch: ActorLaunch) -> int:
    """Live until stopped."""
    return run_actor(launch, answer)


async def answer(runtime: Runtime) -> None:
    """Answer each text with the time of its receipt; those that are `quiet` are only taken."""
    await runtime.ready()
    await runtime.send(HUMAN, TextMessage(content=READY, from_name=str(time.monotonic())))
    while True:
        received = await runtime.receive()
        now = time.monotonic()
        if isinstance(received.body, TextMessage) and not received.body.content.startswith(QUIET):
            await runtime.send(
                HUMAN, TextMessage(content=received.body.content, from_name=str(now))
            )
        runtime.done(received)

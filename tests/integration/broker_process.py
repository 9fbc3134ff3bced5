"""A broker's process without a supervisor, for tests that are its supervisor themselves."""

import os
import sys

from actors.broker.main import main
from actors.runtime.launch import ActorLaunch


def be_broker(launch: ActorLaunch, environ: dict[str, str]) -> None:
    """What the broker's process runs: only what it needs stands in its environment."""
    os.environ.clear()
    os.environ.update(environ)
    sys.exit(main(launch))

"""A broker's process without a supervisor, for tests that play the supervisor themselves."""

import os
import sys

from actors.broker.main import main
from actors.runtime.launch import ActorLaunch


def be_broker(launch: ActorLaunch, environ: dict[str, str]) -> None:
    """Run the broker's process, with only these variables in its environment."""
    os.environ.clear()
    os.environ.update(environ)
    sys.exit(main(launch))

"""Workers as on other machines: each incarnation has its own folder in place of the home.

The bus is the home's own; the difference is that a worker finds no files where it starts.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from actors.runtime.kinds import KINDS, resolve
from actors.runtime.launch import ActorLaunch
from agiraph.storage.home import Home
from agiraph.storage.home_folders import make_folders
from tests.scenarios.live_home import LiveHome


def machine_of(home: Path, incarnation: int) -> Path:
    """Return the folder of the machine on which this incarnation of each worker runs."""
    return home.parent / f"{home.name}.machines" / str(incarnation)


def work(launch: ActorLaunch) -> int:
    """Run a worker as on another machine."""
    folder = machine_of(launch.home, launch.incarnation)
    make_folders(Home(folder / "home"))
    launch = replace(launch, home=folder / "home", host=f"machine-{launch.incarnation}")
    worker: Callable[[ActorLaunch], int] = resolve(KINDS["worker"])
    return worker(launch)


def supervise() -> None:
    """Run `agiraph-supervisor`, whose workers are on other machines."""
    from tests.fakes.interpreters import supervise as run

    run({**KINDS, "worker": "tests.scenarios.remote_workers_home:work"})


class RemoteWorkersHome(LiveHome):
    """A running home whose workers run elsewhere."""

    program = ("tests.scenarios.remote_workers_home:supervise",)

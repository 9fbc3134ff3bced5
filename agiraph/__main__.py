"""The front door of every process: finds the other top folders, then hands over.

An installed wheel carries `actors`, `transport` and `cli` under agiraph/_bundled, so that their
plain names never land in site-packages; in a checkout they stand beside this package. Modules are
imported by name, because the domain knows nothing of the folders above it.
"""

import importlib
import sys
from pathlib import Path


def main() -> None:
    """Run the command line, or the inner process that the first argument names."""
    _find_folders()
    inner = {"_actor": _actor, "_spawner": _spawner, "_supervisor": _supervisor}
    if len(sys.argv) > 1 and sys.argv[1] in inner:
        inner[sys.argv.pop(1)]()
    else:
        importlib.import_module("cli.main").main()


def supervisor_main() -> None:
    """Run `agiraph-supervisor`."""
    _find_folders()
    _supervisor()


def _actor() -> None:
    importlib.import_module("actors.child").exec_main()


def _spawner() -> None:
    sys.exit(importlib.import_module("actors.spawner").main())


def _supervisor() -> None:
    importlib.import_module("actors.supervisor.main").main()


def _find_folders() -> None:
    here = Path(__file__).resolve().parent
    bundled = here / "_bundled"
    folder = str(bundled if bundled.is_dir() else here.parent)
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)


if __name__ == "__main__":
    main()

"""The entry point of every process: find the other top folders, then start the process.

An installed wheel has `actors`, `transport` and `cli` under agiraph/_bundled, so that their plain
names never land in site-packages; in a checkout they are beside this package. Modules are imported
by name, because the domain must not depend on the folders above it.
"""

import _signal  # type: ignore[import-not-found]  # `signal` wraps it in enums: 10 ms a start
import gc
import importlib
import os
import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line, or the inner process named by the first argument."""
    gc.disable()  # it takes a fifth of the import time; each process enables it later
    open_standard_descriptors()
    _find_folders()
    inner = {
        "_actor": _actor,
        "_spawner": _spawner,
        "_relay": _relay,
        "_supervisor": _supervisor,
        "_run_supervisor": _run_supervisor,
        "_host": _host,
    }
    if len(sys.argv) > 1 and sys.argv[1] in inner:
        inner[sys.argv.pop(1)]()
    else:
        _command_line()


def _end_at_interrupt() -> None:
    """Let Ctrl-C end this process at once, until the command or the supervisor handles it.

    An exception in the middle of an import would print a traceback. If SIGINT is ignored, as in a
    command with `&`, it stays ignored.
    """
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _interrupted)


def _interrupted(_number: int, _frame: object) -> None:
    os.write(2, b"agiraph: interrupted\n")
    os._exit(INTERRUPTED)


def open_standard_descriptors() -> None:
    """Open the null device as each of the descriptors 0, 1 and 2 that are closed.

    Otherwise the next opened file, a lock or a socket, would get that number, and every print would
    write to it.
    """
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # plain: the lowest free number is this one
            os.set_inheritable(descriptor, True)
            stream = open(descriptor, mode, closefd=False)  # noqa: SIM115  # plain: what 0 to 2 are
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


def _command_line() -> None:
    _end_at_interrupt()
    _hide_environment()
    importlib.import_module("cli.main").main()


def supervisor_main() -> None:
    """Run `agiraph-supervisor`."""
    gc.disable()
    open_standard_descriptors()
    _find_folders()
    _supervisor()


def host_main() -> None:
    """Run `agiraph-host`."""
    gc.disable()
    open_standard_descriptors()
    _find_folders()
    _host()


def _actor() -> None:
    importlib.import_module("actors.runtime.child").exec_main(sys.argv[1:])


def _spawner() -> None:
    sys.exit(importlib.import_module("actors.spawner.main").main())


def _relay() -> None:
    sys.exit(importlib.import_module("actors.host.relay").main())


def _hide_environment() -> None:
    """Hide the keys in our environment from other processes of this user.

    A model's command may run without a sandbox; it must not find keys in /proc.
    """
    importlib.import_module("actors.runtime.linux").hide_environment()


def _supervisor() -> None:
    _end_at_interrupt()
    _hide_environment()
    importlib.import_module("actors.supervisor.main").main()


def _host() -> None:
    _end_at_interrupt()
    _hide_environment()
    importlib.import_module("actors.host.main").main()


def _run_supervisor() -> None:
    """Run the supervisor of one run; its first processes are imported meanwhile."""
    interpreters = importlib.import_module("actors.supervisor.processes.interpreters")
    prestarted = interpreters.prestart(os.environ)
    _hide_environment()
    importlib.import_module("actors.supervisor.main").main(prestarted=prestarted)


def _find_folders() -> None:
    here = os.path.dirname(os.path.realpath(__file__))
    bundled = os.path.join(here, "_bundled")
    folder = bundled if os.path.isdir(bundled) else os.path.dirname(here)
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)


if __name__ == "__main__":
    main()

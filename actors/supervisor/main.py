"""`agiraph-supervisor`: reads the options and settings, then runs until it is asked to stop."""

import gc
import os
import re
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import click
import setproctitle

from actors.runtime.child import rotate_output, title_of
from actors.runtime.kinds import KINDS
from actors.runtime.runtime import run_loop
from actors.supervisor.options import SupervisorOptions
from actors.supervisor.processes.interpreters import PrestartedProcesses
from actors.supervisor.supervisor import Supervisor
from agiraph.core.errors import AgiraphError, InvalidInput
from agiraph.core.ids import SUPERVISOR
from agiraph.logs.log import bound, set_up_logging
from agiraph.logs.log_file import LogFile
from agiraph.mcp.secrets import read_secrets
from agiraph.settings.config import Config, load_config
from agiraph.settings.yaml_text import present
from agiraph.storage.home import Home, home_at
from agiraph.storage.project_file import chosen_home
from agiraph.storage.walk import UnsafeFile

EXIT_FAILED = 1
OTLP_VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"
OTLP_PATH = "/v1/traces"
EXIT_USAGE = 2
HIGHEST_PORT = 65535


def parse_http(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> tuple[str, int] | None:
    """Return host and port of the option --http; the last colon divides them (`[::1]:8000`)."""
    if value is None:
        return None
    host, _, port = value.rpartition(":")
    if not host or not (port.isascii() and port.isdecimal()) or int(port) > HIGHEST_PORT:
        raise click.BadParameter(f"'{value}' is not HOST:PORT, as in 127.0.0.1:8000")
    return host.strip("[]"), int(port)


def parse_listen(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> str | None:
    """Return the URL at which other machines connect, `tcp://ADDR:PORT`."""
    if value is None:
        return None
    address, _, port = value.removeprefix("tcp://").rpartition(":")
    is_port = port.isascii() and port.isdecimal() and 0 < int(port) <= HIGHEST_PORT
    if not value.startswith("tcp://") or not re.fullmatch(r"[^\s/]+", address) or not is_port:
        raise click.BadParameter(f"'{value}' is not tcp://ADDR:PORT, as in tcp://0.0.0.0:7400")
    return value


def main(kinds: Mapping[str, str] = KINDS, prestarted: PrestartedProcesses | None = None) -> None:
    """Run the command; `kinds` maps each kind of process to the function that runs it.

    `prestarted` are router and spawner, if they were started before this import.
    """
    command(obj=(kinds, prestarted))


@click.command(name="agiraph-supervisor")
@click.option("--home", type=click.Path(path_type=Path), help="Folder of agents and state.")
@click.option("--config", type=click.Path(path_type=Path), help="Settings over the home's own.")
@click.option(
    "--http",
    callback=parse_http,
    metavar="HOST:PORT",
    help="Where the HTTP API listens (port 0: the port of this home).",
)
@click.option(
    "--listen",
    callback=parse_listen,
    metavar="tcp://ADDR:PORT",
    help="Where other machines connect [default: nowhere].",
)
@click.option("--json-logs", is_flag=True, help="Log one JSON object a line.")
@click.option("--until-eof", is_flag=True, help="Stop when standard input is closed.")
@click.option(
    "--until-unused", is_flag=True, hidden=True, help="The same, once no command uses it."
)
@click.option(
    "--environment",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A file of NAME=value lines; variables that are set already take precedence.",
)
@click.option("--daemon", is_flag=True, help="Run in the background; return when it is ready.")
@click.pass_obj
def command(
    given: tuple[Mapping[str, str], PrestartedProcesses | None],
    home: Path | None,
    config: Path | None,
    http: tuple[str, int] | None,
    listen: str | None,
    json_logs: bool,
    until_eof: bool,
    until_unused: bool,
    environment: Path | None,
    daemon: bool,
) -> None:
    """Run the services and agents of one home, and restart them until you stop this command.

    Ctrl-C, SIGTERM and SIGHUP stop it. With --daemon it continues in the background, and its log is
    in the home.
    """
    folder = home_at(home) if home else chosen_home()
    try:
        settings = with_options(load(folder, config), http, json_logs, listen)
        if (refusal := settings.http.why_refused()) is not None:
            raise InvalidInput(refusal)  # the API would be open to the network without encryption
        for word, is_given in (("--until-eof", until_eof), ("--until-unused", until_unused)):
            if daemon and is_given:
                raise InvalidInput(f"--daemon and {word} exclude each other")
        environ = (read_secrets(environment) if environment else {}) | dict(os.environ)
    except InvalidInput as error:
        click.echo(str(error), err=True)
        sys.exit(EXIT_USAGE)
    if daemon:
        options = options_again(config, http, json_logs, environment, listen)
        sys.exit(go_to_background(folder, options))
    kinds, prestarted = given
    sys.exit(
        run(
            SupervisorOptions(folder, settings, until_eof, until_unused, kinds, environ, prestarted)
        )
    )


def options_again(
    config: Path | None,
    http: tuple[str, int] | None,
    json_logs: bool = False,
    environment: Path | None = None,
    listen: str | None = None,
) -> tuple[str, ...]:
    """Return the command-line words that give another supervisor the same options."""
    return (
        *(("--config", str(config.absolute())) if config is not None else ()),
        *(("--http", f"{http[0]}:{http[1]}") if http is not None else ()),
        *(("--listen", listen) if listen is not None else ()),
        *(("--json-logs",) if json_logs else ()),
        *(("--environment", str(environment.absolute())) if environment is not None else ()),
    )


def go_to_background(home: Path, options: tuple[str, ...]) -> int:
    """Start a supervisor in the background; print the outcome and return the exit code."""
    from actors.supervisor.daemon import DaemonFailed, start_daemon

    try:
        click.echo(start_daemon(home, options))
    except DaemonFailed as error:
        click.echo(str(error), err=True)
        return error.code
    except OSError as error:
        click.echo(f"{error.filename or home}: {error.strerror or error}", err=True)
        return EXIT_FAILED
    return 0


def load(home: Path, config: Path | None) -> Config:
    """Return the settings: the defaults, overridden by the home's own, overridden by `config`."""
    own = present(Home(home).config)
    return load_config(*own, *([config] if config is not None else []))


def with_options(
    config: Config, http: tuple[str, int] | None, json_logs: bool, listen: str | None = None
) -> Config:
    """Return the settings overridden by options and variables of the command line."""
    if http is not None:
        place = config.http.model_copy(update={"host": http[0], "port": http[1]})
        config = config.model_copy(update={"http": place})
    if listen is not None:
        hosts = config.hosts.model_copy(update={"listen": listen})
        config = config.model_copy(update={"hosts": hosts})
    endpoint = os.environ.get(OTLP_VARIABLE, "")
    if endpoint.startswith("http") and not config.telemetry.otlp_endpoint:
        telemetry = config.telemetry.model_copy(
            update={"otlp_endpoint": endpoint.rstrip("/") + OTLP_PATH}
        )
        config = config.model_copy(update={"telemetry": telemetry})
    if json_logs:
        log = config.log.model_copy(update={"format": "json"})
        config = config.model_copy(update={"log": log})
    return config


def run(options: SupervisorOptions) -> int:
    """Run the supervisor; return its exit code, and print on stderr why it could not start."""
    gc.freeze()  # the imported modules stay
    gc.enable()
    setproctitle.setproctitle(title_of("supervisor", SUPERVISOR))
    os.umask(0o077)
    log = options.config.log
    system = Home(options.home).system
    file = LogFile(system.log(SUPERVISOR), log.file_bytes, log.files)
    rotate = partial(rotate_output, system.errors(SUPERVISOR))
    set_up_logging(log.level, log.format, file=file, rotate=rotate)
    try:
        with bound(entity=SUPERVISOR):
            return run_loop(Supervisor(options).run())
    except AgiraphError as error:
        click.echo(str(error), err=True)
        return EXIT_FAILED
    except UnsafeFile as error:
        click.echo(error.with_advice(), err=True)
        return EXIT_FAILED
    except OSError as error:
        place = error.filename or options.home
        click.echo(f"{place}: {error.strerror or error}", err=True)
        return EXIT_FAILED

"""`agiraph up`, `down` and `status`: the supervisor of a home in the background."""

import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from agiraph.core.errors import InvalidInput, Refused, Unavailable, listed
from agiraph.core.ids import SUPERVISOR
from agiraph.core.turns import Usage
from agiraph.http.discovery import is_held, read_port
from agiraph.http.errors import ApiError, NotReachable
from agiraph.storage.files import is_file
from agiraph.storage.home import Home
from agiraph.storage.home_users import is_used
from agiraph.storage.supervisor_note import holder_of, pid_here, read_note
from cli.exits import DONE, NO_SUPERVISOR, WRONG_USAGE
from cli.login_service import (
    LoginService,
    NoLoginServices,
    install,
    installed_file,
    login_service,
    remove,
    start,
    unknown_at_login,
)
from cli.options.everywhere import remark
from cli.options.remote import is_elsewhere
from cli.options.shared import connect, examples, home_option, json_option
from cli.output.formats import format_goal, format_seconds, format_size, format_time, format_usage
from cli.output.listing import Column, JsonObject, Listing, print_json, to_rows
from cli.sanitize import broken_for, printable

if TYPE_CHECKING:
    from agiraph.http.client import Client

READY_SECONDS: Final = 60.0
STOP_SECONDS: Final = 30.0
LOOK_SECONDS: Final = 0.05
STATUS_SECONDS: Final = 3.0
UNFINISHED: Final = ("idle", "working", "waiting_for_human", "standing_still", "paused")
AGENTS_SHOWN: Final = 10
AGENTS: Final = (
    Column("AGENT", "name"),
    Column("STATUS", "status"),
    Column("GOAL", "goal", format_goal, wide=True),
)
FIELDS = "running, home, pid, since, api, problem, processes, agents, spent_today, logs and more"


# --- up ------------------------------------------------------------------------------------------


def _place(
    ctx: click.Context, option: click.Parameter, value: str | None
) -> tuple[str, int] | None:
    from actors.supervisor.main import parse_http

    return parse_http(ctx, option, value)


def _uplink(ctx: click.Context, option: click.Parameter, value: str | None) -> str | None:
    from actors.supervisor.main import parse_listen

    return parse_listen(ctx, option, value)


@click.command(
    epilog=examples(
        "agiraph up",
        "agiraph up --http 127.0.0.1:8000",
        "agiraph up --listen tcp://0.0.0.0:7400   # for hosts (agiraph host invite)",
        "agiraph up --at-login",
    )
)
@click.option(
    "--http",
    metavar="HOST:PORT",
    callback=_place,
    help="Where the HTTP API listens (port 0: the port of this home).",
)
@click.option(
    "--listen",
    metavar="tcp://ADDR:PORT",
    callback=_uplink,
    help="Where other machines connect [default: nowhere].",
)
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A settings file that overrides the home's own.",
)
@click.option("--at-login", is_flag=True, help="Start it at each login, too.")
@home_option
@json_option(f"one JSON object: started, {FIELDS}")
def up(
    http: tuple[str, int] | None,
    listen: str | None,
    config: Path | None,
    at_login: bool,
    home: Path,
    as_json: bool,
) -> int:
    """Start the supervisor of this home in the background; return when it is ready.

    Agents continue where they were and outlive this terminal. If it runs already, nothing is
    changed. --at-login writes a systemd user unit (on a Mac a launchd agent) that starts it at
    login, with this PATH and the variables of {home}/system/secrets.env.
    """
    from actors.supervisor.main import options_again

    options = options_again(config, http, listen=listen)
    service = _install(home, options) if at_login else None
    port, is_ended = read_port(home), True
    while is_ended:
        _await_its_end(home)
        is_new = not is_held(home) and (_start_service(home, service) or _start(home, options))
        if not is_new:
            _require_daemon(home)
        found = look(home, READY_SECONDS)
        is_ended = not is_new and not is_held(home)  # the running one was about to end
    if options and not is_new:
        click.echo("agiraph: it runs with the options it was started with", err=True)
    if problem := found.get("problem", f"no supervisor runs on home {home} any more"):
        raise Unavailable(f"{problem}; see `agiraph logs supervisor`")
    if as_json:
        print_json({"started": is_new} | found)
    else:
        remark(f"the supervisor {'is ready' if is_new else 'runs already'}")
        if port is not None and (now := read_port(home)) != port:
            remark(f"another program has port {port}; this home has port {now} from now on")
        _print(found)
    return DONE


def _install(home: Path, options: Sequence[str]) -> LoginService:
    """Set up the start at login, report missing variables, and return the service."""
    try:
        service = login_service(home, os.environ)
    except NoLoginServices as error:
        command = shlex.join(("agiraph", "up", "--home", str(home)))
        raise Unavailable(
            f"{error}: nothing was changed; let your system run `{command}` at login"
        ) from None
    if problem := install(service, home, options, os.environ):
        click.echo(f"agiraph: {service.file} is written, but not enabled: {problem}", err=True)
    if names := unknown_at_login(home, os.environ):
        file = Home(home).system.secrets
        click.echo(f"agiraph: at login, {listed(names)} will be read from {file} alone", err=True)
    return service


def _start_service(home: Path, service: LoginService | None) -> bool:
    """Let the system start the service; return whether it did. False without a service."""
    if service is None:
        return False
    if problem := start(service, os.environ):
        click.echo(f"agiraph: for now it is started without {service.kind}: {problem}", err=True)
        return False
    _await_held(home)
    return True


def _start(home: Path, options: Sequence[str]) -> bool:
    """Start a supervisor; False if another process has started one meanwhile."""
    from actors.supervisor.daemon import DaemonFailed, start_daemon

    try:
        start_daemon(home, options)
    except DaemonFailed as error:
        if error.code == WRONG_USAGE:
            raise InvalidInput(str(error)) from None
        if is_held(home):
            return False
        raise
    return True


def _await_held(home: Path) -> None:
    """Wait until the supervisor that the system starts holds the home. Raises Unavailable."""
    if not _has_come(lambda: is_held(home), READY_SECONDS):
        raise Unavailable(
            f"the system was asked to start the supervisor, but none runs after"
            f" {READY_SECONDS:.0f} s; see `agiraph logs supervisor`"
        )


def _await_its_end(home: Path) -> None:
    """Wait at most STATUS_SECONDS for a supervisor that ends with its last command."""
    _has_come(lambda: not _ends_with_command(home) or is_used(home), STATUS_SECONDS)


def _has_come(event: Callable[[], bool], within_seconds: float) -> bool:
    """Wait until `event` returns True; False if it does not within `within_seconds`."""
    give_up_at = time.monotonic() + within_seconds
    while not event():
        if time.monotonic() > give_up_at:
            return False
        time.sleep(LOOK_SECONDS)
    return True


def _ends_with_command(home: Path) -> bool:
    note = read_note(home)
    return note is not None and note.ends_with_command and is_held(home)


def _require_daemon(home: Path) -> None:
    """Raise Refused if the running supervisor ends with the commands that use it."""
    if _ends_with_command(home):
        raise Refused(
            f"the supervisor of home {home} (pid {holder_of(home)}) was started by a command, as"
            " `agiraph run` is, and ends with the last one that uses it; try again then, or stop"
            " those"
        )


# --- down ----------------------------------------------------------------------------------------


@click.command(epilog=examples("agiraph down", "agiraph down --at-login"))
@click.option("--at-login", is_flag=True, help="Do not start it at login any more, either.")
@home_option
@json_option("one JSON object: stopped, home, pid, unfinished, open_questions")
def down(at_login: bool, home: Path, as_json: bool) -> int:
    """Stop the supervisor of this home and all its processes; return when they have ended.

    Says which agents have not finished: they continue where they were at the next `agiraph up`.
    """
    if at_login:
        _forget_login(home)
    is_running = is_held(home)
    if is_running:
        _require_daemon(home)
    found = look(home, STATUS_SECONDS)
    if is_running:
        _stop(home, found["pid"])
    if as_json:
        keys = ("home", "pid", "open_questions")
        shown = {key: found.get(key) for key in keys} | {"unfinished": found.get("agents", [])}
        print_json({"stopped": is_running} | shown)
    elif not is_running:
        remark(f"no supervisor runs on home {home}")
    else:
        remark(f"the supervisor (pid {found['pid']}) has stopped")
        _print_unfinished(found)
    return DONE


def _forget_login(home: Path) -> None:
    """Remove the start of this home's supervisor at login."""
    try:
        service = login_service(home, os.environ)
    except NoLoginServices as error:
        click.echo(f"agiraph: {error}", err=True)
        return
    is_removed = remove(service, os.environ)
    remark(f"{'removed' if is_removed else 'there is no'} {service.file}")


def _stop(home: Path, pid: int | None) -> None:
    """Stop the supervisor in order and wait until it has ended. Raises Unavailable."""
    if pid is None:
        raise Unavailable(f"a supervisor holds home {home}, but its lock names no process")
    here = pid_here(pid, Home(home).system.path)
    if here is None:
        raise Unavailable(
            f"the supervisor of home {home} runs in another container, where its pid is {pid}: run"
            " `agiraph down` there"
        )
    os.kill(here, signal.SIGTERM)
    if not _has_come(lambda: not is_held(home), STOP_SECONDS):
        raise Unavailable(
            f"the supervisor (pid {here}) has not stopped within {STOP_SECONDS:.0f} s; see"
            f" `agiraph logs supervisor`, or end it with `kill -9 {here}`"
        )


def _print_unfinished(found: JsonObject) -> None:
    if found["problem"]:
        remark(f"the unfinished work is not known: {found['problem']}")
        return
    if found["open_questions"]:
        remark(f"open questions: {found['open_questions']} (`agiraph up` keeps them)")
    if found["agents"]:
        remark("unfinished; they continue where they were at the next `agiraph up`:")
        _list_agents(found)
    else:
        remark("no agent is unfinished")


# --- status --------------------------------------------------------------------------------------


@click.command(epilog=examples("agiraph status", "agiraph status --json"))
@home_option
@json_option(f"one JSON object: {FIELDS}")
def status(home: Path, as_json: bool) -> int:
    """Show whether a supervisor runs on this home, its processes, agents at work and spending.

    Exits 0 if one runs, 4 if none does. Days are in UTC.
    """
    found = _look_elsewhere(home) if is_elsewhere() else look(home, STATUS_SECONDS)
    if as_json:
        print_json(found)
    else:
        _print(found)
    return DONE if found["running"] else NO_SUPERVISOR


def look(home: Path, patience_seconds: float) -> JsonObject:
    """Return the state of a home's supervisor; wait `patience_seconds` for its gateway."""
    login = installed_file(home, os.environ)
    logs = Home(home).system
    files = [logs.errors(SUPERVISOR), logs.log(SUPERVISOR)]
    found: JsonObject = {
        "running": is_held(home),
        "home": str(home),
        "logs": [str(file) for file in files if is_file(file)],
        "at_login": str(login) if login else None,
    }
    if not found["running"]:
        return found
    found |= {"api": None, "problem": None, "processes": None, "memory_bytes": None}
    found |= {"agents": [], "agents_total": None, "open_questions": None, "spent_today": None}
    try:
        with connect(home, patience_seconds=patience_seconds) as client:
            found |= _of_gateway(client)
    except (ApiError, NotReachable) as error:
        found["problem"] = str(error)
    note = read_note(home)  # it writes its note before its gateway answers
    found["pid"] = holder_of(home) or found.get("pid")
    found["since"] = note.since if note else None
    return found | {"ends_with_command": bool(note and note.ends_with_command)}


def _look_elsewhere(home: Path) -> JsonObject:
    """Return the state of a supervisor on another machine, from its gateway."""
    with connect(home) as client:
        found = {"running": True, "home": client.health().home, "logs": [], "at_login": None}
        found |= {"problem": None, "since": None}
        return found | _of_gateway(client) | {"ends_with_command": False}


def _of_gateway(client: "Client") -> JsonObject:
    health = client.health()
    processes = [entity for entity in client.entities() if entity.pid is not None]
    today = datetime.now(UTC).date().isoformat()
    days = {row.key: row.usage for row in client.usage(by="day").rows}
    agents = to_rows(client.agents(status=UNFINISHED)) if health.agents else []
    return {
        "api": client.url,
        "pid": next((entity.pid for entity in processes if entity.address == SUPERVISOR), None),
        "processes": len(processes),
        "memory_bytes": sum(entity.memory_bytes for entity in processes),
        "agents": [{key: row[key] for key in ("id", "name", "status", "goal")} for row in agents],
        "agents_total": health.agents,
        "open_questions": health.open_questions,
        "spent_today": to_rows([days.get(today, Usage())])[0],
    }


def _print(found: JsonObject) -> None:
    lines = {"supervisor": _state(found), "home": found["home"]}
    if found.get("problem"):
        lines["gateway"] = found["problem"]
    elif found["running"]:
        lines |= _work(found)
    lines |= {"logs": "\n".join(found["logs"]), "at login": found["at_login"] or "no"}
    width = 11
    for name, text in lines.items():
        shown = broken_for(sys.stdout, printable(text), width + 2)
        click.echo(f"{name.ljust(width)}  {shown}")
    if found.get("agents"):
        click.echo("")
        _list_agents(found)


def _list_agents(found: JsonObject) -> None:
    agents = found["agents"]
    Listing(agents[:AGENTS_SHOWN], AGENTS, "").print(as_json=False)
    if len(agents) > AGENTS_SHOWN:
        click.echo(f"... and {len(agents) - AGENTS_SHOWN} more: agiraph agents")


def _state(found: JsonObject) -> str:
    if not found["running"]:
        return "none runs; start it with: agiraph up"
    since = found["since"]
    age = f" since {format_time(since)} ({format_seconds(time.time() - since)})" if since else ""
    bound = "; it ends with the commands that use it" if found["ends_with_command"] else ""
    return f"runs{age}, pid {found['pid']}{bound}"


def _work(found: JsonObject) -> dict[str, str]:
    asked = found["open_questions"]
    spent = Usage.model_validate(found["spent_today"])
    return {
        "API": found["api"],
        "processes": f"{found['processes']}, {format_size(found['memory_bytes'])}",
        "agents": f"{len(found['agents'])} unfinished of {found['agents_total']}",
        "questions": f"{asked} open: agiraph questions" if asked else "none open",
        "spent today": format_usage(spent) if spent.tokens else "nothing",
    }

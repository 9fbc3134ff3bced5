"""The home: its folder and access to it, its settings and rules, its supervisor."""

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from agiraph.core.errors import AgiraphError, Corrupt, InvalidInput, Refused
from agiraph.core.ids import agent_of
from agiraph.core.json_text import parse_json
from agiraph.http.discovery import is_held
from agiraph.http.errors import ApiError, NotReachable
from agiraph.settings.config import load_config
from agiraph.settings.yaml_text import is_absent
from agiraph.storage.files import entries, open_file, read_bytes
from agiraph.storage.home import AgentHome, Home, RunHome
from agiraph.storage.home_folders import LONGEST_SOCKET, socket_folder, socket_length
from agiraph.storage.home_format import FORMAT, OtherFormat, check_format
from agiraph.storage.supervisor_note import holder_of
from agiraph.storage.walk import several_names
from cli.doctor_checks.check import DoctorCheck, DoctorContext, fail, first_of, ok, other_home, warn

RUNS_CHECKED: Final = 20
COPY: Final = "; replace a file with hard links by a copy: cp -p FILE FILE.own && mv FILE.own FILE"


def check_home(context: DoctorContext) -> DoctorCheck:
    """Check that the home can be written to, or created."""
    home = context.home.path
    if home.exists() and not home.is_dir():
        return fail(f"{home} is not a folder", other_home())
    folder = context.nearest_folder
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        detail = f"{folder} cannot be written to ({error.strerror})"
        return fail(detail, other_home())
    if folder == home:
        return ok(f"{home} can be written to")
    return ok(f"{home} does not exist yet; it can be created")


def check_privacy(context: DoctorContext) -> DoctorCheck:
    """Check that no other user can read the private files of the home."""
    home = context.home
    folders = (home.system.path, home.human.path)
    private = (*folders, home.system.token, home.system.secrets, home.knowledge)
    open_to_all = [path for path in private if path.exists() and _is_open(path)]
    if not open_to_all:
        return ok("no other user can read its keys, tokens and logs")
    shown = ", ".join(str(path) for path in open_to_all)
    words = " ".join(str(path) for path in open_to_all)
    return fail(f"other users can read {shown}", f"chmod go-rwx {words}")


def _is_open(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def check_files(context: DoctorContext) -> DoctorCheck:
    """Check that the files of services are regular files of this user, and readable as a whole."""
    own = [_wrong_with(path, _open_own) for path in files_of_services(context.home)]
    if odd := [found for found in own if found]:
        detail = f"{first_of(odd)}: a service that needs it does not start"
        return fail(detail, f"restore it from a backup, or move it away to start without it{COPY}")
    odd = [found for agent in agents_of(context.home) for found in odd_places(agent)]
    if not odd:
        return ok("services find only regular files and directories")
    detail = f"{first_of(odd)}: services skip that agent"
    return fail(detail, f"inspect it, then move it away; services check again{COPY}")


def files_of_services(home: Home) -> list[Path]:
    """Return the files of a home that the supervisor and its services open."""
    system, human = home.system, home.human
    files = [system.lock, system.format, system.token, system.children]
    files += [system.mailboxes, system.usage]
    files += [system.doors, system.hosts, system.tracing, system.uplink_key, home.knowledge]
    files += [human.book, human.repeats, human.channels]
    return [*files, human.tokens, human.answer_key, human.audit, *_logs(system.logs)]


def _logs(folder: Path) -> list[Path]:
    try:
        return [folder / entry.name for entry in entries(folder)]
    except OSError:
        return []


def check_versions(context: DoctorContext) -> DoctorCheck:
    """Check that the home has the format of this Agiraph."""
    try:
        check_format(context.home)
    except OtherFormat as error:
        return fail(str(error), "install that Agiraph, or name another home (--home)")
    except Corrupt as error:
        return fail(str(error), f"restore it from a backup, or write {FORMAT} into it")
    except OSError:
        pass  # `check_files` reports it
    return ok("this version can read the home")


def files_of(agent: AgentHome) -> list[Path]:
    """Return the files of an agent that services open."""
    files = [agent.record, agent.conversation, agent.events, agent.triggers]
    files += [agent.soul, agent.goal, agent.memory_file]
    for run in latest_runs(agent):
        files += [run.journal, run.shared_values_journal, run.messages / ".journal.jsonl"]
        files += [run.output, run.plan]
    return files


def odd_places(agent: AgentHome) -> list[str]:
    """Return the problems of the files and folders of an agent that services open."""
    folders = [agent.path, agent.memory, agent.runs]
    for run in latest_runs(agent):
        folders += [run.path, run.messages, run.attachments, run.nodes, run.workers]
    wrong = [_wrong_with(path, _open_own) for path in files_of(agent)]
    wrong += [_wrong_with(path, read_bytes) for path in (agent.record, agent.triggers)]
    wrong += [_wrong_with(path, entries) for path in folders]
    return list(dict.fromkeys(found for found in wrong if found))


def _open_own(path: Path) -> int:
    """Return a descriptor of a file that processes write. Raises UnsafeFile, also for hard links.

    A write through a hard link would change the other file, such as a backup.
    """
    found = open_file(path)
    if (names := os.fstat(found).st_nlink) > 1:
        os.close(found)
        raise several_names(names, path)
    return found


def _wrong_with(path: Path, look: Callable[[Path], object]) -> str:
    try:
        found = look(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return str(error)
    if isinstance(found, int):
        os.close(found)
    return ""


def agents_of(home: Home) -> list[AgentHome]:
    """Return the folders of all agents."""
    try:
        return [home.agent(one.name) for one in entries(home.agents) if one.name[0] != "."]
    except OSError:
        return []


def latest_runs(agent: AgentHome) -> list[RunHome]:
    """Return the folders of an agent's latest runs."""
    try:
        return [agent.run(one.name) for one in entries(agent.runs)[-RUNS_CHECKED:]]
    except OSError:
        return []


def check_settings(context: DoctorContext) -> DoctorCheck:
    """Check that the home's own settings can be read."""
    own = context.home.config
    if is_absent(own):
        return ok(f"the defaults ({own} does not exist)")
    try:
        load_config(own)
    except AgiraphError as error:
        return fail(str(error), "fix that line; see `agiraph config schema`")
    return ok(f"{own}")


def check_approvals(context: DoctorContext) -> DoctorCheck:
    """Check that the approval rules can be read."""
    from agiraph.tools.approvals.policy_file import FILE, policy_file, read_policy
    from agiraph.tools.table import tool_names

    file = policy_file(context.home.path)
    try:
        rules = read_policy(file, tool_names()).rules
    except InvalidInput as error:
        return fail(str(error), f"fix {FILE}; until then every action is asked for")
    if not rules:
        return ok(f"no rules ({FILE}): everything is allowed")
    return ok(f"{len(rules)} rules in {file}")


def check_supervisor(context: DoctorContext) -> DoctorCheck:
    """Check that a running supervisor of this home can be reached."""
    home = context.home
    if not is_held(home.path):
        detail = "none is running on this home; `agiraph run` starts its own"
        return ok(detail, "`agiraph up` keeps one running")
    holder = f"supervisor pid {holder_of(home.path) or 'unknown'}"
    try:
        address = parse_json(read_bytes(home.human.address, anyones=True))
        detail = f"{holder} is running; its API is {address['url']}"
        return ok(detail)
    except (OSError, ValueError, KeyError, TypeError):
        detail = f"{holder} is running, but its API has no address yet"
        return warn(detail, f"see the logs in {home.system.logs}")


def check_processes(context: DoctorContext) -> DoctorCheck:
    """Check that every service is up; report one that is backing off with its cause."""
    from agiraph.http.client import Client

    home = context.home
    if not is_held(home.path):
        return ok("none: no supervisor is running on this home")
    try:
        with Client.for_home(home.path) as client:
            services = [row for row in client.entities() if agent_of(row.address) is None]
    except (ApiError, NotReachable) as error:
        detail = f"the gateway does not answer: {error}"
        return warn(detail, f"see the logs in {home.system.logs}")
    down = [row for row in services if row.state in ("backing_off", "failed")]
    if not down:
        return ok(f"{len(services)} services are up")
    found = "; ".join(
        f"{row.address} is {row.state.replace('_', ' ')}: {row.cause}" for row in down
    )
    advice = (
        f"agiraph logs {down[0].address}; entities that wait for it continue when it runs again"
    )
    return warn(found, advice)


def check_socket(context: DoctorContext) -> DoctorCheck:
    """Check that the path of the router's socket is not too long."""
    own = context.home.system.sockets
    try:
        folder = socket_folder(context.home, context.environ)
    except Refused as error:
        return fail(str(error), "the supervisor cannot start")
    found = f"{socket_length(folder)} of {LONGEST_SOCKET} bytes"
    if folder == own:
        return ok(found)
    detail = f"{socket_length(own)} bytes in the home, at most {LONGEST_SOCKET} are possible"
    return warn(detail, f"it is in {folder} instead ({found})")

"""The checks of `agiraph doctor`: one look each at this machine or this home, changing nothing."""

import importlib.util
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from agiraph.client.door import is_held
from agiraph.config import load_config
from agiraph.errors import AgiraphError, InvalidInput
from agiraph.home import HOME_VARIABLE, Home

OLDEST_PYTHON: Final = (3, 11)
LONGEST_SOCKET_PATH: Final = 107 if sys.platform == "linux" else 103
LOW_DISK: Final = 1_000_000_000
FULL_DISK: Final = 50_000_000
PACKAGES: Final = (
    *("zmq", "msgpack", "anthropic", "openai", "httpx", "pydantic", "click", "yaml"),
    *("jinja2", "fastapi", "uvicorn", "websockets", "rich", "psutil", "setproctitle"),
    *("bs4", "markdownify", "protego", "prometheus_client"),
)


@dataclass(frozen=True, slots=True)
class Check:
    """What one look found, and what to do about it if it is not `ok`."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    advice: str = ""

    def as_json(self) -> dict[str, str]:
        """Return it as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Patient:
    """What is looked at: a home and an environment."""

    home: Home
    environ: Mapping[str, str]


def check_python(_patient: Patient) -> Check:
    """Python is new enough."""
    found = f"Python {platform.python_version()} at {sys.executable}"
    if sys.version_info >= OLDEST_PYTHON:
        return Check("python", "ok", found)
    return Check("python", "fail", found, "install Python 3.11 or newer and Agiraph in it")


def check_packages(_patient: Patient) -> Check:
    """Everything that Agiraph imports is there."""
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if not missing:
        return Check("packages", "ok", f"all {len(PACKAGES)} are installed")
    advice = "install Agiraph again: pip install --force-reinstall agiraph"
    return Check("packages", "fail", f"missing: {', '.join(missing)}", advice)


def check_home(patient: Patient) -> Check:
    """The home can be written to, or made."""
    home = patient.home.path
    if home.exists() and not home.is_dir():
        return Check("home", "fail", f"{home} is not a folder", _other_home())
    standing = _nearest_folder(home)
    try:
        with tempfile.TemporaryFile(dir=standing):
            pass
    except OSError as error:
        detail = f"{standing} cannot be written to ({error.strerror})"
        return Check("home", "fail", detail, _other_home())
    if standing == home:
        return Check("home", "ok", f"{home} can be written to")
    return Check("home", "ok", f"{home} does not exist yet; it can be made")


def check_settings(patient: Patient) -> Check:
    """The home's own settings can be read."""
    own = patient.home.config
    if not own.exists():
        return Check("settings", "ok", f"the defaults ({own} does not exist)")
    try:
        load_config(own)
    except AgiraphError as error:
        return Check("settings", "fail", str(error), "mend the line; `agiraph config schema` helps")
    return Check("settings", "ok", f"{own}")


def check_approvals(patient: Patient) -> Check:
    """The rules on what needs the human's word can be read."""
    from agiraph.approvals.reading import FILE, policy_file, read_policy
    from agiraph.tools.table import TOOLS

    file = policy_file(patient.home.path)
    try:
        rules = read_policy(file, [tool.name for tool in TOOLS]).rules
    except InvalidInput as error:
        return Check("approvals", "fail", str(error), f"mend {FILE}; until then all is asked for")
    if not rules:
        return Check("approvals", "ok", f"no rules ({FILE}): everything is allowed")
    return Check("approvals", "ok", f"{len(rules)} rules in {file}")


def check_supervisor(patient: Patient) -> Check:
    """Who holds the home, and can it be reached?"""
    home = patient.home
    if not is_held(home.path):
        detail = "none runs on this home; `agiraph run` starts its own"
        return Check("supervisor", "ok", detail, "agiraph-supervisor keeps one running")
    holder = _holder(home.system.lock)
    try:
        address = json.loads(home.human.address.read_text(encoding="utf-8"))
        detail = f"{holder} holds the home; its API is {address['url']}"
        return Check("supervisor", "ok", detail)
    except (OSError, ValueError, KeyError, TypeError):
        detail = f"{holder} holds the home, but its API has no address yet"
        return Check("supervisor", "warn", detail, f"see the logs in {home.system.logs}")


def check_socket(patient: Patient) -> Check:
    """The router's socket has a path that the system takes."""
    path = patient.home.system.sockets / "router.sock"
    length = len(os.fsencode(path))
    if length <= LONGEST_SOCKET_PATH:
        return Check("socket path", "ok", f"{length} of {LONGEST_SOCKET_PATH} bytes")
    detail = f"{length} bytes, the system takes {LONGEST_SOCKET_PATH}"
    return Check("socket path", "warn", detail, "a temporary folder is used instead")


def check_providers(patient: Patient) -> Check:
    """Some model can be called with the keys of this environment."""
    from agiraph.providers.registry import load_presets, usable

    presets = load_presets(patient.home.path / "providers.yaml")
    rows = [row for row in usable(presets, patient.environ) if not row["local"]]
    ready = [f"{row['name']} ({row['reason']})" for row in rows if row["usable"]]
    reasons = ", ".join(str(row["reason"]) for row in rows if not row["usable"])
    if ready:
        more = f"; not usable: {reasons}" if reasons else ""
        return Check("models", "ok", f"usable: {', '.join(ready)}{more}")
    detail = f"no provider's key is set, so the embedded script/survey is used ({reasons})"
    return Check("models", "warn", detail, "set a key, for example: export ANTHROPIC_API_KEY=...")


def check_outside(patient: Patient) -> Check:
    """Which outside agents (Claude Code, Codex ...) workers can be."""
    from agiraph.outside.preset import find_program, load_agents

    try:
        agents = load_agents(patient.home.path)
    except InvalidInput as error:
        return Check("outside agents", "fail", str(error), "mend the line of agents.yaml")
    here = [name for name, preset in agents.items() if find_program(preset, patient.environ)]
    if here:
        return Check("outside agents", "ok", f"installed: {', '.join(here)}")
    return Check("outside agents", "ok", "none is installed (`agiraph outside` tells how)")


def check_search(patient: Patient) -> Check:
    """Some search service can be asked for `web_search`."""
    from agiraph.web.services import advice, chosen, why_unusable

    own = patient.home.config
    web = load_config(*([own] if own.is_file() else [])).web
    name = chosen(web.search, web.search_url, patient.environ)
    has_ddgs = importlib.util.find_spec("ddgs") is not None
    reason = why_unusable(name, web.search_url, patient.environ, has_ddgs=has_ddgs)
    if reason is None:
        return Check("web search", "ok", f"{name} (web.search is {web.search})")
    return Check("web search", "warn", f"{name} cannot be asked: {reason}", advice(name))


def check_channels(patient: Patient) -> Check:
    """What the channels need is set and installed."""
    from agiraph.channels.variables import variables_in

    channels = load_config(*_own(patient)).channels
    if not channels:
        return Check("channels", "ok", "none is configured (docs/channels.md)")
    plain = {name: one.model_dump(mode="json") for name, one in channels.items()}
    missing = sorted(name for name in variables_in(plain) if not patient.environ.get(name))
    if missing:
        advice = f"export {missing[0]}=... where the supervisor is started"
        return Check("channels", "warn", f"not set: {', '.join(missing)}", advice)
    needs_screen = any(one.kind == "desktop" for one in channels.values())
    if needs_screen and not (shutil.which("notify-send") or shutil.which("osascript")):
        detail = "neither notify-send nor osascript is installed for the desktop channel"
        return Check("channels", "warn", detail, "install libnotify (apt install libnotify-bin)")
    return Check("channels", "ok", ", ".join(sorted(channels)))


def check_servers(patient: Patient) -> Check:
    """The servers of tools can be started."""
    from agiraph.mcp.checking import why_unusable
    from agiraph.mcp.secrets import read_secrets

    servers = load_config(*_own(patient)).mcp.servers
    if not servers:
        return Check("tool servers", "ok", "none is configured (docs/mcp.md)")
    if importlib.util.find_spec("mcp") is None:
        return Check("tool servers", "fail", "no MCP SDK", "pip install 'agiraph[mcp]'")
    known = {**read_secrets(patient.home.system.secrets), **patient.environ}
    problems = [why_unusable(name, servers[name], known) for name in sorted(servers)]
    if told := "; ".join(filter(None, problems)):
        return Check("tool servers", "warn", told, "set it, or install it; see docs/mcp.md")
    return Check("tool servers", "ok", ", ".join(sorted(servers)))


def check_traces(patient: Patient) -> Check:
    """Traces can be sent, if they should be."""
    endpoint = load_config(*_own(patient)).telemetry.otlp_endpoint
    endpoint = endpoint or patient.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    if not endpoint:
        return Check("traces", "ok", "not sent (telemetry.otlp_endpoint is empty)")
    if importlib.util.find_spec("opentelemetry") is None or not _has_exporter():
        detail = f"should go to {endpoint}, but OpenTelemetry is not installed"
        return Check("traces", "warn", detail, "pip install 'agiraph[otel]'")
    return Check("traces", "ok", f"sent to {endpoint}")


def _has_exporter() -> bool:
    try:
        return importlib.util.find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False


def _own(patient: Patient) -> list[Path]:
    """Return the home's own settings, if there are any."""
    return [patient.home.config] if patient.home.config.is_file() else []


def check_pages(_patient: Patient) -> Check:
    """Pages of the web are read with the best extractor."""
    if importlib.util.find_spec("trafilatura") is not None:
        return Check("web pages", "ok", "trafilatura finds a page's main text")
    detail = "trafilatura is not installed; pages are read whole, with what stands round their text"
    return Check("web pages", "warn", detail, "pip install 'agiraph[web]'")


def check_sandbox(_patient: Patient) -> Check:
    """Bubblewrap is there to shut in a model's shell."""
    found = shutil.which("bwrap")
    if found:
        return Check("bwrap", "ok", found)
    detail = "not installed; shells have limits and a clean environment, but see the whole disk"
    return Check("bwrap", "warn", detail, "install bubblewrap (apt install bubblewrap)")


def check_launcher(patient: Patient) -> Check:
    """How processes are started, and whether the quick way is safe here."""
    can_fork = sys.platform == "linux" and hasattr(os, "fork")
    wanted = _wanted_launcher(patient.home)
    if wanted == "fork" and not can_fork:
        detail = f"fork is asked for, but it is not safe on {sys.platform}"
        return Check("launcher", "fail", detail, "set supervisor.launch to auto in agiraph.yaml")
    if wanted == "exec" or not can_fork:
        detail = f"exec ({wanted} on {sys.platform}): each process takes a second or two to start"
        return Check("launcher", "ok" if wanted == "exec" else "warn", detail)
    return Check("launcher", "ok", "fork: processes start in milliseconds")


def check_disk(patient: Patient) -> Check:
    """There is room for journals and files."""
    free = shutil.disk_usage(_nearest_folder(patient.home.path)).free
    detail = f"{free / 1e9:.1f} GB free"
    if free < FULL_DISK:
        return Check("disk", "fail", detail, f"free some space, or {_other_home()}")
    if free < LOW_DISK:
        return Check("disk", "warn", detail, "journals and results need room; free some space")
    return Check("disk", "ok", detail)


CHECKS: tuple[Callable[[Patient], Check], ...] = (
    check_python,
    check_packages,
    check_home,
    check_settings,
    check_approvals,
    check_supervisor,
    check_socket,
    check_providers,
    check_outside,
    check_search,
    check_pages,
    check_channels,
    check_servers,
    check_traces,
    check_sandbox,
    check_launcher,
    check_disk,
)


def check_up(patient: Patient) -> list[Check]:
    """Make every check; one that breaks has failed and says how."""
    return [_made(check, patient) for check in CHECKS]


def _made(check: Callable[[Patient], Check], patient: Patient) -> Check:
    name = check.__name__.removeprefix("check_")
    try:
        return check(patient)
    except (AgiraphError, OSError, ImportError) as error:
        return Check(name, "fail", f"could not be checked: {error}", "tell us about it")


def _holder(lock: Path) -> str:
    written = lock.read_text(encoding="utf-8", errors="replace").strip()
    pid: Any = written
    try:
        value = json.loads(written)
        pid = value["pid"] if isinstance(value, dict) else value
    except (ValueError, KeyError):
        pid = written.split("\n")[0][:40]
    return f"supervisor pid {pid}" if pid else "a supervisor"


def _nearest_folder(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


def _other_home() -> str:
    return f"name another home with --home or {HOME_VARIABLE}"


def _wanted_launcher(home: Home) -> str:
    return load_config(*([home.config] if home.config.is_file() else [])).supervisor.launch

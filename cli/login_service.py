"""Starting a home's supervisor at login: a systemd user unit, or a launchd agent on a Mac.

The texts are made by pure functions. A service has none of a shell's variables: PATH is written
into it, keys are in a file of the home that the supervisor reads.
"""

import hashlib
import os
import plistlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from agiraph.core.errors import Refused, Unavailable
from agiraph.core.ids import slug
from agiraph.mcp.secrets import read_secrets
from agiraph.settings.variables import KEY_SUFFIXES
from agiraph.storage.home import Home, user_home

Kind = Literal["systemd", "launchd"]
PROGRAMS: Final[dict[Kind, str]] = {"systemd": "systemctl", "launchd": "launchctl"}
LABEL: Final = "local.agiraph"
WITHIN_SECONDS: Final = 30.0
ODD: Final = re.compile(r'[\x00-\x1f\x7f"\\]')
UNIT: Final = """\
[Unit]
Description=Agiraph {what} of {home}

[Service]
ExecStart={command}
Environment={path}
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=1 2
KillMode=mixed
TimeoutStopSec=60
OOMPolicy=continue
UMask=0077

[Install]
WantedBy=default.target
"""


class NoLoginServices(Unavailable):
    """This machine has neither systemd nor launchd."""


@dataclass(frozen=True, slots=True)
class LoginService:
    """The service that starts the supervisor of one home at login, and its file."""

    kind: Kind
    name: str
    file: Path


def login_service(home: Path, environ: Mapping[str, str]) -> LoginService:
    """Return the service that this machine would use for a home. Raises NoLoginServices."""
    path = environ.get("PATH")
    kind = next((kind for kind, name in PROGRAMS.items() if shutil.which(name, path=path)), None)
    if kind is None:
        raise NoLoginServices(
            "this machine has neither systemd (systemctl) nor launchd (launchctl) to start"
            " something at login"
        )
    name = service_name(home)
    if kind == "launchd":
        folder = user_home() / "Library" / "LaunchAgents"
        return LoginService(kind, f"{LABEL}.{name}", folder / f"{LABEL}.{name}.plist")
    named = environ.get("XDG_CONFIG_HOME", "")
    config = Path(named) if os.path.isabs(named) else user_home() / ".config"
    return LoginService(kind, f"{name}.service", config / "systemd" / "user" / f"{name}.service")


def service_name(home: Path) -> str:
    """Return the name of a home's service: `agiraph` for the default home, else a unique name."""
    if home == user_home() / ".agiraph":
        return "agiraph"
    digest = hashlib.blake2b(os.fsencode(home), digest_size=4).hexdigest()
    return f"agiraph-{slug(home.name, fallback='home')}-{digest}"


def service_command(home: Path, options: Sequence[str]) -> list[str]:
    """Return the command line of the supervisor that the service runs."""
    program = [sys.executable, "-P", "-m", "agiraph", "_supervisor"]
    secrets = str(Home(home).system.secrets)
    return [*program, "--home", str(home), "--environment", secrets, *options]


def systemd_unit(command: Sequence[str], home: Path, path: str, what: str = "supervisor") -> str:
    """Return the text of a systemd user unit; `path` is its PATH, `what` the started program.

    The colon before the program (systemd 244) keeps `$` in the words unchanged.
    """
    words = " ".join(map(_unit_word, [f":{command[0]}", *command[1:]]))
    shown = ODD.sub("?", str(home)).replace("%", "%%")
    return UNIT.format(what=what, home=shown, command=words, path=_unit_word(f"PATH={path}"))


def _unit_word(text: str) -> str:
    """Return a word in the quoting of systemd units, where `%` begins a specifier."""
    escaped = ODD.sub(lambda odd: f"\\x{ord(odd[0]):02x}", text)
    return '"' + escaped.replace("%", "%%") + '"'


def launchd_agent(command: Sequence[str], label: str, path: str) -> str:
    """Return the text of a launchd agent; `path` is its PATH."""
    agent = {
        "Label": label,
        "ProgramArguments": list(command),
        "EnvironmentVariables": {"PATH": path},
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 5,
        "ExitTimeOut": 60,
        "ProcessType": "Background",
        "Umask": 0o077,
    }
    return plistlib.dumps(agent).decode()


def install(
    service: LoginService, home: Path, options: Sequence[str], environ: Mapping[str, str]
) -> str:
    """Write the service's file and enable it; return the problem with enabling, or ''.

    Raises Refused if the system refuses the file, which is then removed.
    """
    command, path = service_command(home, options), environ.get("PATH", os.defpath)
    if service.kind == "launchd":
        text = launchd_agent(command, service.name, path)
    else:
        text = systemd_unit(command, home, path)
    service.file.parent.mkdir(parents=True, exist_ok=True)  # plain: the system's own folder
    draft = service.file.with_name(f"draft-{service.file.name}")
    draft.write_bytes(text.encode(errors="replace"))  # plain: the same
    try:
        if service.kind == "systemd":
            _verify(draft, environ)
        draft.replace(service.file)  # plain: the same
    finally:
        draft.unlink(missing_ok=True)  # plain: the same
    if service.kind == "launchd":
        return ""  # launchd reads the folder at login
    _call(("systemctl", "--user", "daemon-reload"), environ)
    return _call(("systemctl", "--user", "enable", service.name), environ)


def start(service: LoginService, environ: Mapping[str, str]) -> str:
    """Let the system start the service now; return the problem, or ''."""
    if service.kind == "launchd":
        domain = f"gui/{os.getuid()}"
        return _call(("launchctl", "bootstrap", domain, str(service.file)), environ)
    return _call(("systemctl", "--user", "start", service.name), environ)


def remove(service: LoginService, environ: Mapping[str, str]) -> bool:
    """Remove the service's file without stopping the service; return whether it existed."""
    if not service.file.is_file():  # plain: the system's own folder
        return False
    if service.kind == "systemd":
        _call(("systemctl", "--user", "disable", service.name), environ)
    with suppress(FileNotFoundError):
        service.file.unlink()  # plain: the same
    if service.kind == "systemd":
        _call(("systemctl", "--user", "daemon-reload"), environ)
    return True


def installed_file(home: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the file that starts a home's supervisor at login, None without one."""
    try:
        file = login_service(home, environ).file
    except NoLoginServices:
        return None
    return file if file.is_file() else None  # plain: the system's own folder


def unknown_at_login(home: Path, environ: Mapping[str, str]) -> list[str]:
    """Return the keys of providers that are set here, but not known to the service."""
    known = read_secrets(Home(home).system.secrets)
    return sorted(name for name in environ if name.endswith(KEY_SUFFIXES) and name not in known)


def _verify(unit: Path, environ: Mapping[str, str]) -> None:
    """Raise Refused if systemd finds an error in the unit; without systemd-analyze do nothing."""
    if shutil.which("systemd-analyze", path=environ.get("PATH")) is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        usual = {"XDG_RUNTIME_DIR": folder}  # without it, nothing is checked
        wrong = _call(("systemd-analyze", "verify", "--user", str(unit)), usual | dict(environ))
    if wrong and "Failed to initialize manager" not in wrong:
        raise Refused(f"systemd does not take the unit: {wrong}")


def _call(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """Run a program of the system; return its message if it fails, else ''."""
    try:
        done = subprocess.run(
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WITHIN_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{command[0]}: {error}"
    said = " ".join((done.stderr or done.stdout).split())
    return (
        f"{' '.join(command)}: {said or f'exit code {done.returncode}'}" if done.returncode else ""
    )

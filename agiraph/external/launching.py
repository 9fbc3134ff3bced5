"""AgentLaunch: the command line, environment and files of a start, and the paths in its sandbox."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import Usage
from agiraph.external.preset import COMMAND, ExternalAgent
from agiraph.storage.home import expanded
from agiraph.tools.sandbox.programs import interpreter_of, is_script
from agiraph.tools.sandbox.toolchain import prefix_of

OPTIONS = "{options}"
PLACEHOLDER = re.compile(r"\{(model|session|folder|home|door|token|permitted|prompt)\}")
NAME_IN_OPTIONS = re.compile(r"[^\s\"'\\{}$`-][^\s\"'\\{}$`]*")
"""Text without a special meaning in an argument, in JSON and in TOML."""

INHERITED = ("LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "SSL_CERT_FILE", "SSL_CERT_DIR")
TEMPORARY = "tmp"
TEMPORARY_MAX_BYTES = 80
"""A Unix socket's path has at most 107 bytes, including its name."""


@dataclass(frozen=True, slots=True)
class ProxyEndpoint:
    """The endpoint of the LLM proxy for this agent: a base URL on loopback, and its token."""

    url: str
    token: str


@dataclass(frozen=True, slots=True)
class AgentLaunch:
    """One start of an external agent.

    `model` is without its provider, '' for the agent's own default. `session` is the session to
    resume, '' for a new one; `prompt_if_lost` replaces `prompt` if it cannot be resumed. `spent` is
    its earlier usage. The agent works in `folder`; `home` is its HOME. It may read `readable`, and
    the matches of `readable_patterns`, which include files published later. `proxy` is None if it
    uses the person's own account.
    """

    agent: ExternalAgent
    prompt: str
    folder: Path
    home: Path
    model: str = ""
    session: str = ""
    prompt_if_lost: str = ""
    proxy: ProxyEndpoint | None = None
    is_sandboxed: bool = False
    readable: tuple[Path, ...] = ()
    spent: Usage = field(default_factory=Usage)
    readable_patterns: tuple[str, ...] = ()

    @property
    def resumes(self) -> bool:
        """Whether the start resumes an earlier session of the agent."""
        return bool(self.session) and bool(self.agent.preset.resume)


def argv_of(launch: AgentLaunch) -> list[str]:
    """Return the command that starts the agent. Raises InvalidInput if it is not installed."""
    preset = launch.agent.preset
    pattern = preset.resume if launch.resumes else preset.start
    options = [
        *(preset.model if launch.model else ()),
        *(preset.walled if launch.is_sandboxed else preset.bare),
    ]
    words = [*preset.command[1:]]
    for word in pattern if OPTIONS in pattern else (OPTIONS, *pattern):
        words.extend(_filled(one, launch) for one in (options if word == OPTIONS else [word]))
    return [_program(launch), *words]


def _program(launch: AgentLaunch) -> str:
    """Return the path of the program; in a sandbox, which has no links, a script's real path."""
    program = launch.agent.required()
    real = os.path.realpath(program)
    return real if launch.is_sandboxed and is_script(real) else program


def environment_of(
    launch: AgentLaunch, environ: Mapping[str, str], mark: Mapping[str, str]
) -> dict[str, str]:
    """Return all variables of the agent, without any provider's key.

    `mark` are variables that name the run. An agent with the person's own account has their HOME.
    """
    preset = launch.agent.preset
    inherited = {
        name: value
        for name, value in environ.items()
        if name in INHERITED or name.startswith("LC_")
    }
    home = str(launch.home)
    places = {
        "PATH": environ.get("PATH", os.defpath),
        "HOME": environ.get("HOME", home) if preset.account == "own" else home,
        "TERM": "dumb",
        "TMPDIR": _temporary(launch, environ),
    }
    own = {name: _filled(value, launch) for name, value in preset.environment.items()}
    return inherited | places | own | dict(mark)


def _temporary(launch: AgentLaunch, environ: Mapping[str, str]) -> str:
    """Return the agent's TMPDIR: a folder of its own, unless that path is too long for sockets.

    In a sandbox it also has its own /tmp. A HOME below the folder for temporary files is not used,
    because Codex creates no helper programs there.
    """
    own = launch.home / TEMPORARY
    shared = "/tmp" if launch.is_sandboxed else environ.get("TMPDIR", "/tmp")
    is_short = len(os.fsencode(own)) <= TEMPORARY_MAX_BYTES
    return str(own) if is_short or own.is_relative_to(shared) else shared


def files_of(launch: AgentLaunch) -> dict[Path, str]:
    """Return the texts of the files to write into the agent's HOME before its start, by path."""
    files = launch.agent.preset.files
    return {launch.home / path: _filled(text, launch) for path, text in files.items()}


def require_safe_name(kind: str, name: str) -> None:
    """Raise InvalidInput for a name that an agent could read as an option or a setting."""
    if name and not NAME_IN_OPTIONS.fullmatch(name):
        raise InvalidInput(
            f"the {kind} {name!r} cannot be given to an external agent: its name begins with '-', "
            "or has spaces, quotes, braces or backslashes"
        )


def _filled(text: str, launch: AgentLaunch) -> str:
    """Return a text with its placeholders replaced; placeholders in the values are not replaced.

    Raises InvalidInput for a model or a session that could be read as an option or a setting.
    """
    values = {
        "model": launch.model,
        "session": launch.session,
        "folder": str(launch.folder),
        "home": str(launch.home),
        "door": launch.proxy.url if launch.proxy else "",
        "token": launch.proxy.token if launch.proxy else "",
        "permitted": _permitted(launch),
        "prompt": launch.prompt,
    }

    def value(place: re.Match[str]) -> str:
        name, filled = place[1], values[place[1]]
        if name in ("model", "session"):
            require_safe_name(name, filled)
        return filled

    return PLACEHOLDER.sub(value, text)


def _permitted(launch: AgentLaunch) -> str:
    """Return as JSON the paths outside of its folder that the agent may use: in a sandbox, all."""
    if launch.is_sandboxed:
        return json.dumps({"*": "allow"})
    patterns = [f"{launch.home}/*", *(f"{folder}/*" for folder in launch.readable_patterns)]
    return json.dumps({"*": "deny"} | dict.fromkeys(patterns, "allow"))


# --- the contents of a sandbox --------------------------------------------------------------------


def sandbox_readable(agent: ExternalAgent, path: str) -> list[Path]:
    """Return the paths of the machine that a sandbox must contain for this agent's program.

    The interpreter of a script is searched on `path`. For a preset the paths include the package of
    its program and its `readable` paths.
    """
    program = Path(agent.required())
    real = program.resolve()
    needs = script_needs(real, path)
    if agent.name == COMMAND:
        return [program, *needs]
    return [program, _package_of(real), *needs, *_existing(agent.preset.readable)]


def sandbox_writable(launch: AgentLaunch) -> list[Path]:
    """Return the writable folders besides its node's folder: its HOME and the preset's folders."""
    named = launch.agent.preset.writable if launch.agent.name != COMMAND else ()
    return [launch.home, *_existing(named)]


def _existing(folders: Sequence[str]) -> list[Path]:
    paths = (expanded(folder) for folder in folders)
    return [path for path in paths if path.exists()]


def _package_of(program: Path) -> Path:
    """Return the folder of the package that a program belongs to, or the program itself."""
    for folder in program.parents:
        if folder.name == "node_modules":
            return folder
        if folder.parent.name in ("site-packages", "dist-packages"):
            return folder
    return program


def script_needs(program: Path, path: str) -> list[Path]:
    """Return the paths that the interpreter of a script needs; none for another program.

    `pipx`, `uv tool` and `pip` in a virtual environment create scripts whose first line names the
    environment's own Python. A name after `env` is searched on `path`.
    """
    named = interpreter_of(program, path)
    if named is None or not os.path.exists(named):
        return []
    interpreter = Path(named)
    return list(dict.fromkeys((interpreter, *_prefixes(interpreter))))


def _prefixes(interpreter: Path) -> Iterator[Path]:
    yield from prefix_of(interpreter.parent)
    if interpreter.is_symlink():
        yield from prefix_of(interpreter.resolve().parent)

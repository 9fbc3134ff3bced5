"""Launching: what an outside agent is started with: argument vector and environment."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agiraph.core.turns import Usage
from agiraph.external.interpreter import folders_of_script, is_script
from agiraph.external.preset import COMMAND, ExternalAgent

OPTIONS = "{options}"
PASSED_ON = ("LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "SSL_CERT_FILE", "SSL_CERT_DIR")
TEMPORARY = "tmp"
MOST_TEMPORARY_BYTES = 80
"""A Unix socket's path has at most 107 bytes, of which its name takes some."""


@dataclass(frozen=True, slots=True)
class ProxyEndpoint:
    """Where the broker serves this agent: a base URL on loopback, and its token."""

    url: str
    token: str


@dataclass(frozen=True, slots=True)
class AgentLaunch:
    """One start of an outside agent.

    `prompt` is what it is told; `model` the model's name without its provider, '' for its own
    default; `session` the conversation to take up again, '' for a new one; `anew` what it is told
    instead of `prompt` if that conversation is lost; `folder` where it works, `home` its HOME,
    `readable` folders that it may read besides, `handed_over` patterns of paths for the same, which
    also match what is published later; `door` None if it uses the person's own account; `spent`
    what the conversation that it takes up has used before.
    """

    agent: ExternalAgent
    prompt: str
    folder: Path
    home: Path
    model: str = ""
    session: str = ""
    anew: str = ""
    door: ProxyEndpoint | None = None
    is_walled: bool = False
    readable: tuple[Path, ...] = ()
    spent: Usage = field(default_factory=Usage)
    handed_over: tuple[str, ...] = ()

    @property
    def takes_up(self) -> bool:
        """Whether a conversation is taken up again that began before."""
        return bool(self.session) and bool(self.agent.preset.resume)


def argv_of(job: AgentLaunch) -> list[str]:
    """Return the command that starts it. Raises InvalidInput if it is not installed."""
    preset = job.agent.preset
    pattern = preset.resume if job.takes_up else preset.start
    further = preset.walled if job.is_walled else preset.bare
    words = [*preset.command[1:], *_with_options(pattern, job, further)]
    return [_program(job), *words]


def _program(job: AgentLaunch) -> str:
    """Return the path of its program: in a sandbox, which shows no links to it, a script's own."""
    program = job.agent.required()
    real = os.path.realpath(program)
    return real if job.is_walled and is_script(Path(real)) else program


def _with_options(pattern: Sequence[str], job: AgentLaunch, further: Sequence[str]) -> list[str]:
    """Return the arguments, with those of the model and the sandbox at `{options}`, or first."""
    options = [*(job.agent.preset.model if job.model else ()), *further]
    words: list[str] = []
    for word in pattern if OPTIONS in pattern else (OPTIONS, *pattern):
        words.extend(options if word == OPTIONS else [word])
    return [_filled(word, job) for word in words]


def environment_of(
    job: AgentLaunch, environ: Mapping[str, str], mark: Mapping[str, str]
) -> dict[str, str]:
    """Return all variables it is given: no provider's key is among them.

    `mark` is what tells whose it is. An agent that uses the person's own account has their HOME.
    """
    is_own = job.agent.preset.account == "own"
    passed = {name: environ[name] for name in PASSED_ON if name in environ}
    passed |= {name: value for name, value in environ.items() if name.startswith("LC_")}
    path = {"PATH": environ.get("PATH", os.defpath)}
    home = environ.get("HOME", str(job.home)) if is_own else str(job.home)
    own = {name: _filled(value, job) for name, value in job.agent.preset.environment.items()}
    place = {"HOME": home, "TERM": "dumb", "TMPDIR": _temporary(job, environ)}
    return passed | path | place | own | dict(mark)


def _temporary(job: AgentLaunch, environ: Mapping[str, str]) -> str:
    """Return its folder for temporary files: one of its own, unless no socket's name fits there.

    In a sandbox /tmp is its own, too. A HOME below the folder for temporary files is no good one:
    Codex makes no helper programs there.
    """
    own = job.home / TEMPORARY
    shared = "/tmp" if job.is_walled else environ.get("TMPDIR", "/tmp")
    is_short = len(os.fsencode(own)) <= MOST_TEMPORARY_BYTES
    return str(own) if is_short or own.is_relative_to(shared) else shared


def files_of(job: AgentLaunch) -> dict[Path, str]:
    """Return the files that its HOME must hold when it starts."""
    files = job.agent.preset.files
    return {job.home / path: _filled(text, job) for path, text in files.items()}


def _filled(text: str, job: AgentLaunch) -> str:
    values = {
        "model": job.model,
        "session": job.session,
        "folder": str(job.folder),
        "home": str(job.home),
        "door": job.door.url if job.door else "",
        "token": job.door.token if job.door else "",
        "permitted": _permitted(job),
        "prompt": job.prompt,  # last: what it holds is not filled in
    }
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def _permitted(job: AgentLaunch) -> str:
    """Return as JSON which paths outside its folder it may use: in a sandbox, all there are."""
    if job.is_walled:
        return json.dumps({"*": "allow"})
    patterns = [f"{job.home}/*", *(f"{folder}/*" for folder in job.handed_over)]
    return json.dumps({"*": "deny"} | dict.fromkeys(patterns, "allow"))


def shown_of(agent: ExternalAgent, path: str) -> list[Path]:
    """Return what a sandbox has to show of the machine for this agent's program to run.

    Of a preset, which a person wrote, the package that its program stands in, the interpreter of a
    script, which is looked for on `path`, and what it names as `readable`. Of a command line, which
    a model may have written, the program's file; its interpreter too if it was found on the PATH.
    """
    program = Path(agent.required())
    real = program.resolve()
    if agent.name == COMMAND:
        is_trusted = "/" not in agent.preset.command[0]
        return [program, *(folders_of_script(real, path) if is_trusted else ())]
    package = _package_of(real)
    return [program, package, *folders_of_script(real, path), *_existing(agent.preset.readable)]


def writable_of(job: AgentLaunch) -> list[Path]:
    """Return the folders that it may write besides its node's: its own, and what a preset names."""
    named = job.agent.preset.writable if job.agent.name != COMMAND else ()
    return [job.home, *_existing(named)]


def _existing(folders: Sequence[str]) -> list[Path]:
    paths = (Path(folder).expanduser() for folder in folders)
    return [path for path in paths if path.exists()]


def _package_of(program: Path) -> Path:
    """Return the folder of the package that a program belongs to, else the program itself."""
    for folder in program.parents:
        if folder.name == "node_modules":
            return folder
        if folder.parent.name in ("site-packages", "dist-packages"):
            return folder
    return program

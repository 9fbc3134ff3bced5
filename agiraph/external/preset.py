"""AgentPreset: the known external agents, and the parsing of an `agent_command`.

The table is `configs/agents.yaml`, overridden by the home's own `agents.yaml`.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from agiraph.core.errors import InvalidInput, listed, unknown
from agiraph.core.roles import SECTION as ROLES_SECTION
from agiraph.core.specs import Author
from agiraph.core.turns import JsonObject
from agiraph.models.registry import read_row, read_table
from agiraph.settings.config import ConfigSection, configs_folder

DriverName = Literal["claude", "codex", "gemini", "opencode", "plain", "acp"]
COMMAND = "command"
DISABLED = "is disabled: agents.yaml says `enabled: false`"

RulesHeld = Literal["asked", "denied", "sandbox"]
"""How the rules of approvals.yaml apply to an agent.

`asked`: it asks before each action, and the rules answer. `denied`: its own configuration forbids
some actions, and the rules are not used. `sandbox`: it does not ask, and only the sandbox confines
it."""

PARAMETER = r"^[A-Za-z][\w-]*$"
VALUE = r"^[^\s=]+$"


def _names(value: object) -> object:
    return ((value,) if value else ()) if isinstance(value, str) else value


def _below(path: str) -> str:
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise ValueError("name a file below its HOME")
    return path


Below = Annotated[str, AfterValidator(_below)]
Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
Parameter = dict[Annotated[str, Field(pattern=VALUE)], tuple[str, ...]]
"""The values that a parameter can have, each with the arguments that it represents."""


class AgentToolServer(ConfigSection):
    """An MCP server for an agent's sessions: a command that the agent starts, or a URL."""

    command: tuple[str, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)
    url: str = Field(default="", pattern=r"^(https?://\S+)?$")
    headers: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "AgentToolServer":
        if bool(self.command) == bool(self.url):
            raise ValueError("name a command or a url, and not both")
        return self


class AgentPreset(ConfigSection):
    """One external agent. Placeholders in braces are replaced by `launching`.

    An agent that is not `enabled` cannot be used.

    How it is run: `driver` implements its protocol. `account` is `door` (it calls models through
    the LLM proxy, with the protocol `wire`, and has no provider's key) or `own` (the person's own
    login). `start` and `resume` are the arguments of a new and of a resumed session, `model` the
    arguments for the model, `walled` and `bare` further arguments inside and outside our sandbox.
    `carried` is the path of the program in a Python package, below site-packages. Before each
    start, `folders` in its HOME are created, `removed` paths in its HOME are removed, and `files`
    are written into its HOME. `parameters` can be set in an `agent_command`, each to one of its
    values.

    How it is confined: `rules` as above; a `rule_exempt` agent may work although there are approval
    rules that cannot be enforced for it. `readable` and `writable` are folders that it needs inside
    our sandbox. `trial` is a command that succeeds where its own sandbox works, executed outside
    our sandbox ({program} is its program).

    With the driver `acp`: `authenticate` is its login method. `mode` is the mode for each session,
    and `walled_mode` inside our sandbox; of several names the first supported one is used. It may
    switch to `further_modes` by itself, because they do not allow more. `meta` is the `_meta` of
    each session, `mcp` are tool servers by name, `client_files` offers it the client's file
    methods.

    Its files and output: `leaves` are name patterns of files in its working folder that are not
    published. `stdout`, with the driver `plain`: its output is its last message (`word`), or a
    `log`, which counts as a result only together with files.

    `silence_seconds` is the timeout without any output; `settle_seconds` replaces it when the
    agent's work is finished.
    """

    about: str = ""
    enabled: bool = True
    driver: DriverName = "plain"
    command: tuple[str, ...] = Field(min_length=1)
    carried: str = ""
    start: tuple[str, ...] = ()
    resume: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    authenticate: str = ""
    parameters: dict[Annotated[str, Field(pattern=PARAMETER)], Parameter] = Field(
        default_factory=dict
    )
    rules: RulesHeld = "sandbox"
    rule_exempt: bool = False
    mode: Names = ()
    walled_mode: Names = ()
    further_modes: Names = ()
    meta: JsonObject = Field(default_factory=dict)
    mcp: dict[str, AgentToolServer] = Field(default_factory=dict)
    walled: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    removed: tuple[Below, ...] = ()
    files: dict[Below, str] = Field(default_factory=dict)
    client_files: bool = True
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    stdout: Literal["word", "log"] = "word"
    trial: tuple[str, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)
    account: Literal["door", "own"] = "door"
    wire: Literal["anthropic", "openai", "google", "none"] = "none"
    version: tuple[str, ...] = ("--version",)
    install: str = ""
    silence_seconds: float = Field(default=900, gt=0)
    total_seconds: float | None = Field(default=None, gt=0)
    settle_seconds: float = Field(default=10, ge=0)
    attempts: int = Field(default=3, ge=1)


@dataclass(frozen=True, slots=True)
class ExternalAgent:
    """The meaning of an `agent_command`: a preset by its name, or `command` for a command line.

    `program` is the path of its program, None if it is not installed or not enabled.
    """

    name: str
    preset: AgentPreset
    program: str | None

    def required(self) -> str:
        """Return the program's path. Raises InvalidInput with advice to enable or install it."""
        if not self.preset.enabled:
            raise InvalidInput(f"the external agent '{self.name}' {DISABLED}")
        if self.program is None:
            wanted = self.preset.command[0]
            install = self.preset.install or f"put {wanted} on the PATH of the supervisor"
            shown = f"'{self.name}' ({wanted})" if self.name != COMMAND else f"'{wanted}'"
            raise InvalidInput(f"the external agent {shown} is not installed: {install}")
        return self.program


def load_agents(home: Path | None = None) -> dict[str, AgentPreset]:
    """Return the known external agents by name, including those in the home's `agents.yaml`.

    Raises InvalidInput with the file and the key of an invalid preset.
    """
    presets: dict[str, AgentPreset] = {}
    files = [configs_folder() / "agents.yaml"] + ([home / "agents.yaml"] if home else [])
    for file in files:
        for name, values in read_table(file).items():
            if name == ROLES_SECTION:
                continue
            if not isinstance(values, dict) or not name or name.split() != [name]:
                raise InvalidInput(f"{file}: {name}: expected a name and `key: value` lines")
            base = presets[name].model_dump() if name in presets else {}
            presets[name] = read_row(file, name, AgentPreset, base | values)
    return presets


def meant_by(
    agent_command: str,
    presets: Mapping[str, AgentPreset],
    environ: Mapping[str, str],
    author: Author,
) -> ExternalAgent:
    """Return the agent for an `agent_command`: a preset name, then parameters as NAME=VALUE.

    A person may also write a command line, which is run unchanged with the task on its stdin, and
    further words after a preset's name, which are added to its options. Such words can change how
    the agent asks for permission, so approval rules count as not enforced. Raises InvalidInput for
    any other command.
    """
    words = _words(agent_command)
    name, preset = words[0], presets.get(words[0])
    if preset is None:
        if author == "model":
            raise _unknown_preset(name, presets)
        return _command_line(words, presets, environ)
    options, further = _filled_in(name, preset, words[1:])
    if further and author == "model":
        raise _unknown_word(name, preset, further[0])
    changes: dict[str, object] = {
        "walled": (*options, *further, *preset.walled),
        "bare": (*options, *further, *preset.bare),
    }
    if further and preset.rules == "asked":
        changes["rules"] = "sandbox"
    return ExternalAgent(name, preset.model_copy(update=changes), find_program(preset, environ))


def _filled_in(name: str, preset: AgentPreset, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the arguments of the parameters that these words set, and the other words.

    Raises InvalidInput for an invalid value, or a parameter that is set twice.
    """
    options, further, found = list[str](), list[str](), set[str]()
    for word in words:
        parameter, equals, value = word.partition("=")
        values = preset.parameters.get(parameter) if equals else None
        if values is None:
            further.append(word)
            continue
        if parameter in found:
            raise InvalidInput(f"{parameter} of the external agent '{name}' is set twice")
        if value not in values:
            raise unknown(f"{parameter} of the external agent '{name}'", value, list(values))
        found.add(parameter)
        options.extend(values[value])
    return options, further


def _unknown_preset(name: str, presets: Mapping[str, AgentPreset]) -> InvalidInput:
    error = unknown("external agent", name, list(presets))
    return InvalidInput(f"{error}; a command line can only be used as a preset in agents.yaml")


def _unknown_word(name: str, preset: AgentPreset, word: str) -> InvalidInput:
    known = [f"{one}={'|'.join(values)}" for one, values in preset.parameters.items()]
    possible = f"parameters: {listed(known)}" if known else "it has no parameters"
    return InvalidInput(f"unknown parameter '{word}' of the external agent '{name}' ({possible})")


def _command_line(
    words: Sequence[str], presets: Mapping[str, AgentPreset], environ: Mapping[str, str]
) -> ExternalAgent:
    preset = AgentPreset(command=tuple(words))
    program = find_program(preset, environ)
    if program is None and len(words) == 1 and "/" not in words[0]:
        error = unknown("external agent", words[0], list(presets))
        raise InvalidInput(f"{error}; it is not a command on the PATH either")
    return ExternalAgent(COMMAND, preset, program)


def known_agents(home: Path, environ: Mapping[str, str]) -> list[ExternalAgent]:
    """Return every known external agent, installed or not. Raises like `load_agents`."""
    return [
        ExternalAgent(name, preset, find_program(preset, environ))
        for name, preset in load_agents(home).items()
    ]


def find_program(
    preset: AgentPreset, environ: Mapping[str, str], packages: Sequence[str] | None = None
) -> str | None:
    """Return the path of a preset's program: on the PATH, or in a Python package.

    None if the program is not installed, or the preset is disabled.
    """
    if not preset.enabled:
        return None
    program = os.path.expanduser(preset.command[0])
    found = shutil.which(program, path=environ.get("PATH", os.defpath))
    if found is not None:
        return os.path.abspath(found)
    if preset.carried:
        for folder in sys.path if packages is None else packages:
            path = os.path.join(folder, preset.carried)
            if os.access(path, os.X_OK) and os.path.isfile(path):
                return path
    return None


def _words(agent_command: str) -> list[str]:
    try:
        words = shlex.split(agent_command)
    except ValueError as error:
        raise InvalidInput(f"agent_command '{agent_command}' cannot be read: {error}") from None
    if not words:
        raise InvalidInput("agent_command is empty: name an external agent or a command line")
    return words

"""Playbook: the behavior of the embedded model, as YAML: a list of steps for each role.

    about: one line                     # a description
    replies:                            # answers to messages, by the sender's name
      human: "I am at step {{ step }}."
    roles:
      surveyor:                         # `coordinator`, or a worker's role; `worker` is any other
        let:                            # names for repeated values
          area: "= assignment.name"
        steps:
          - id: look
            say: "I look at {{ area }}."
            calls:
              - tool: bash
                arguments: {command: "ls"}
            until: "ok"                 # repeat the step until this is true ...
            at_most: 3                  # ... but not more often than this
          - id: tell
            when: "did.look[0].ok"      # otherwise the step is skipped
            calls:
              - tool: send_message
                each: "['ada', 'ben']"  # one call for each, named `item`
                arguments: {to: "{{ item }}", content: "{{ did.look[0].text }}"}

Texts are jinja templates. A text that begins with `=` is an expression whose value is used directly
(a list, a mapping, a number); `when`, `until` and `each` are such expressions without the `=`. A
text that begins with `json:` is a template that gives JSON. Names in templates: `me`, `role`,
`goal`, `assignment` (name, task, refs), `tools` (their names: a coordinator in infinite mode has
`end_cycle`), `messages` (sender, text), `did` (a step's id to the results of its last visit: text,
ok, json, lines_after), `ok` (whether all calls of this visit succeeded), `source(file)` (a file of
the playbooks' folder), and the names of `let`. The filter `quoted` quotes a text for the shell.
"""

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, ValidationError

from agiraph.core.errors import listed, unknown
from agiraph.llm.base import ProviderError
from agiraph.models.local_servers import playbook_names
from agiraph.settings.config import ConfigSection
from agiraph.settings.yaml_text import read_yaml

MOST_KEPT = 16
# Names go into the ids of tool calls, which providers want to be short and plain.
NAME = r"^[a-z][a-z0-9_]{0,11}$"
REPLY_STEP = "reply"


class ScriptCall(ConfigSection):
    """One tool call of a step; with `each`, one for every item of a list."""

    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    each: str | None = None


class PlaybookStep(ConfigSection):
    """One answer of the model. A step without calls ends its turn, like a model's plain text."""

    id: str = Field(pattern=NAME)
    when: str = "true"
    say: str = ""
    calls: tuple[ScriptCall, ...] = ()
    until: str = "true"
    at_most: int = Field(default=20, ge=1)
    think_seconds: float = Field(default=0, ge=0)


class PlaybookRole(ConfigSection):
    """The behavior of an entity with this role, step by step."""

    let: dict[str, Any] = Field(default_factory=dict)
    steps: tuple[PlaybookStep, ...]


class Playbook(ConfigSection):
    """All roles of one playbook."""

    about: str
    replies: dict[str, str] = Field(default_factory=dict)
    roles: dict[Annotated[str, Field(pattern=NAME)], PlaybookRole]

    def role_for(self, role: str, kind: str) -> tuple[str, PlaybookRole]:
        """Return the name and the role for a coordinator or for a worker of `role`."""
        for name in (role, kind):
            if name in self.roles:
                return name, self.roles[name]
        raise ProviderError(
            "bad_request",
            f"the playbook has no role for a {role} (it has: {listed(self.roles)})",
        )


def load_playbook(folder: Path, name: str) -> Playbook:
    """Return the playbook in `folder`/`name`.yaml.

    Raises ProviderError if unknown or unreadable.
    """
    known = playbook_names(folder)
    if name not in known:
        error = unknown("model", f"script/{name}", [f"script/{one}" for one in known])
        raise ProviderError("unknown_model", str(error))
    file = folder / f"{name}.yaml"
    try:
        stat = file.stat()
        return _read(file, (stat.st_mtime_ns, stat.st_size, stat.st_ino))
    except OSError as error:
        raise ProviderError("bad_request", f"{file}: cannot be read ({error})") from None


@lru_cache(MOST_KEPT)
def _read(file: Path, _stamp: tuple[int, int, int]) -> Playbook:
    """Return the playbook of a file; cached until `_stamp` (times, size, inode) changes.

    Raises ProviderError.
    """
    try:
        text = file.read_text(encoding="utf-8")  # plain: shipped with the package
        playbook = Playbook.model_validate(read_yaml(text))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ProviderError("bad_request", f"{file}: cannot be read ({error})") from None
    except ValidationError as error:
        raise ProviderError("bad_request", f"{file}: {_explain(error)}") from None
    _check_steps(file, playbook)
    return playbook


def _check_steps(file: Path, playbook: Playbook) -> None:
    for name, role in playbook.roles.items():
        ids = [step.id for step in role.steps]
        twice = sorted({one for one in ids if ids.count(one) > 1} | ({REPLY_STEP} & set(ids)))
        if twice:
            taken = ", ".join(twice)
            raise ProviderError("bad_request", f"{file}: role {name}: ids are taken: {taken}")


def _explain(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()
    )

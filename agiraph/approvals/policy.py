"""Policy: rules that say which actions are allowed, asked for or denied; pure.

Rules are looked at in order and the first that matches decides; what no rule matches is allowed.
A rule sees a `Deed`: the tool (or `stage`, a stage's start, or `spend`, a model call), and its
subject, that is the command, path, address or text it is about.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from glob import escape
from typing import Any, Literal

from pydantic import Field

from agiraph.models import Deed
from agiraph.record import Record

Action = Literal["allow", "ask", "deny"]
STAGE = "stage"
SPEND = "spend"
PSEUDO_TOOLS = (STAGE, SPEND)
SUBJECTS = ("command", "path", "url", "query", "to", "key", "name", "task")
NAMES_A_PATH = re.compile(r"(?:^|[\s=:'\"(<>])(~[\w/]*|/[^\s'\";|&)<>]*)")
HARMLESS = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin")


class Rule(Record):
    """One rule. Every condition that it names must hold; `tool`, `worker`, `pattern` are globs.

    `outside`: only commands that name a path outside the entity's own folders. `sandboxed`: only
    where a sandbox stands round the entity's commands (false: only where none does). `over_usd`:
    only once the run has spent more. `remember` is what "allow always" allows from then on, a glob
    over subjects (empty: this very subject).
    """

    action: Action
    name: str = ""
    tool: tuple[str, ...] = ("*",)
    pattern: str = "*"
    worker: tuple[str, ...] = ("*",)
    outside: bool = False
    sandboxed: bool | None = None
    over_usd: float | None = Field(default=None, ge=0)
    reason: str = ""
    remember: str = ""


@dataclass(frozen=True, slots=True)
class Who:
    """Who would act: the name and role of the entity, and the folders that are its own.

    `is_sandboxed`: whether a sandbox stands round its commands.
    """

    name: str
    role: str = ""
    folders: tuple[str, ...] = ()
    is_sandboxed: bool = False


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the policy says of a deed; `rule` is None if no rule matched."""

    action: Action
    deed: Deed
    rule: Rule | None = None

    @property
    def about(self) -> Deed:
        """The deed with the rule that asks for it, and what "allow always" would allow."""
        rule = self.rule or Rule(action=self.action)
        return self.deed.model_copy(
            update={"rule": rule.name, "remember": rule.remember or _this_very(self.deed)}
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules in force, in order."""

    rules: tuple[Rule, ...] = ()

    def needs_spent(self, deeds: Sequence[Deed]) -> bool:
        """Whether what the run has spent so far may matter to any of these deeds."""
        return any(
            rule.over_usd is not None and _is_tool(rule, deed.tool)
            for rule in self.rules
            for deed in deeds
        )

    def strict(self, tools: Sequence[str], who: Who | None = None) -> list[Rule]:
        """Return the rules that may ask for or deny a use of these tools (by `who`), in order."""
        return [
            rule
            for rule in self.rules
            if rule.action != "allow"
            and any(_is_tool(rule, tool) for tool in tools)
            and (who is None or _is_about(rule, who))
        ]

    def judge(self, deed: Deed, who: Who, spent_usd: float = 0.0) -> Ruling:
        """Return what the first matching rule says."""
        for rule in self.rules:
            if _matches(rule, deed, who, spent_usd):
                return Ruling(rule.action, deed, rule)
        return Ruling("allow", deed)

    def judge_all(self, deeds: Sequence[Deed], who: Who, spent_usd: float = 0.0) -> Ruling:
        """Return the strictest ruling on several deeds that are one act: deny, ask, allow."""
        rulings = [self.judge(deed, who, spent_usd) for deed in deeds]
        return min(rulings, key=lambda ruling: ("deny", "ask", "allow").index(ruling.action))


def subject_of(arguments: Mapping[str, Any]) -> str:
    """Return what a tool call is about: its command, path, address; else all its arguments."""
    for name in SUBJECTS:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return value
    return json.dumps(arguments, ensure_ascii=False, sort_keys=True, default=str)


def remembers(remembered: Deed, deed: Deed) -> bool:
    """Whether an "allow always" that was given for one deed covers another."""
    return remembered.tool == deed.tool and fnmatchcase(deed.subject, remembered.remember)


def names_outside(command: str, folders: Sequence[str]) -> bool:
    """Whether a command names a path that is not in any of `folders`; a guess, not a sandbox.

    Absolute paths, `~` and `..` count; programs (`/usr/bin/env`) do, `/dev/null` does not.
    """
    if re.search(r"(?:^|[\s/='\"])\.\.(?:/|\s|$|['\"])", command):
        return True
    for path in NAMES_A_PATH.findall(command):
        inside = any(path == f or path.startswith(f.rstrip("/") + "/") for f in folders)
        if not inside and path not in HARMLESS:
            return True
    return False


def _matches(rule: Rule, deed: Deed, who: Who, spent_usd: float) -> bool:
    return (
        _is_tool(rule, deed.tool)
        and fnmatchcase(deed.subject, rule.pattern)
        and _is_about(rule, who)
        and (not rule.outside or names_outside(deed.subject, who.folders))
        and (rule.over_usd is None or spent_usd > rule.over_usd)
    )


def _is_about(rule: Rule, who: Who) -> bool:
    """Whether a rule is about this entity, with or without a sandbox round its commands."""
    return rule.sandboxed in (None, who.is_sandboxed) and any(
        fnmatchcase(own.casefold(), wanted.casefold())
        for wanted in rule.worker
        for own in (who.name, who.role)
        if own
    )


def _is_tool(rule: Rule, tool: str) -> bool:
    """Whether a rule is about a tool; `*` means every tool, but neither stage nor spend."""
    if tool in PSEUDO_TOOLS:
        return tool in rule.tool
    return any(fnmatchcase(tool, wanted) for wanted in rule.tool)


def _this_very(deed: Deed) -> str:
    return "*" if deed.tool == STAGE else escape(deed.subject)

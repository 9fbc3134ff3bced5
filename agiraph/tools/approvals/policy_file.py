"""Reading of approvals.yaml, rule by rule; errors name the file, the line and the rule.

The person's own `{home}/approvals.yaml` replaces the whole shipped file.
"""

import os
from collections.abc import Collection
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from agiraph.core.errors import InvalidInput, unknown
from agiraph.core.record import misfit_in_words
from agiraph.mcp.catalog import is_served
from agiraph.settings.config import configs_folder
from agiraph.settings.yaml_text import is_absent, key_lines, parse_yaml, read_text
from agiraph.tools.approvals.policy import PSEUDO_TOOLS, SPEND, Action, ApprovalPolicy, ApprovalRule

FILE = "approvals.yaml"
ONLY_KEY = "rules"
KEYS = tuple(ApprovalRule.model_fields)
LISTS = ("tool", "worker")


def policy_file(home: Path) -> Path:
    """Return the file in force in this home: the person's own, otherwise the shipped one.

    The person's own file is in force even if it is unreadable, for example a broken link.
    """
    own = home / FILE
    return configs_folder() / FILE if is_absent(own) else own


def read_policy(file: Path, tools: Collection[str]) -> ApprovalPolicy:
    """Return the rules of a file. InvalidInput names the line, the rule and the possible values.

    `tools` are the names that a rule may name.
    """
    return ApprovalPolicy(_rules(file, read_text(file), tools))


class ApprovalPolicyFile:
    """The policy of a home, read again when its file has changed.

    If a change makes the file unreadable, the last valid rules stay in force. If the file was never
    readable, every action needs approval, so that a typing error allows nothing.
    """

    def __init__(self, home: Path, tools: Collection[str]) -> None:
        self._home = home
        self._tools = tools
        self._own = home / FILE
        self._stamp: tuple[int, ...] | None = None
        self._policy: ApprovalPolicy | None = None

    def current(self) -> ApprovalPolicy:
        """Return the rules in force now."""
        stamp = _stamp_of(self._own)
        if self._policy is None or stamp != self._stamp:
            self._stamp = stamp
            try:
                self._policy = read_policy(policy_file(self._home), self._tools)
            except InvalidInput as error:
                reason = f"approvals.yaml cannot be read: {error}"
                everything = ApprovalRule(action="ask", name="unreadable", reason=reason)
                self._policy = self._policy or ApprovalPolicy((everything,))
        return self._policy


def _stamp_of(file: Path) -> tuple[int, ...] | None:
    """Return the state of a file or a broken link; None if the path is missing."""
    for status_of in (os.stat, os.lstat):
        with suppress(OSError):
            status = status_of(file)
            return status.st_mtime_ns, status.st_size, status.st_ino
    return None


def _rules(file: Path, text: str, tools: Collection[str]) -> tuple[ApprovalRule, ...]:
    values = parse_yaml(text, str(file)) or {ONLY_KEY: []}
    if not isinstance(values, dict) or set(values) != {ONLY_KEY}:
        raise InvalidInput(f"{file}:1: expected `rules:` and a list of rules below it")
    listed = values[ONLY_KEY] or []
    if not isinstance(listed, list):
        raise InvalidInput(f"{file}:1: `rules` is a list, each rule with a dash before it")
    lines = key_lines(text)
    problems: list[str] = []
    rules: list[ApprovalRule] = []
    for number, value in enumerate(listed, start=1):
        place = f"{file}:{lines[ONLY_KEY, number - 1]}: {_named(number, value)}"
        try:
            rules.append(_rule(number, value, tools))
        except InvalidInput as error:
            problems.append(f"{place}: {error}")
    if problems:
        raise InvalidInput("\n".join(problems))
    return tuple(rules)


def _named(number: int, value: Any) -> str:
    name = value.get("name") if isinstance(value, dict) else None
    return f"rule {number} ('{name}')" if name else f"rule {number}"


def _rule(number: int, value: Any, tools: Collection[str]) -> ApprovalRule:
    if not isinstance(value, dict):
        raise InvalidInput(f"expected keys and values, got {value!r} (keys: {', '.join(KEYS)})")
    for key in value:
        if key not in KEYS:
            raise unknown("key", str(key), KEYS)
    if value.get("action") not in get_args(Action):
        shown = value.get("action", "nothing")
        possible = ", ".join(get_args(Action))
        raise InvalidInput(f"action is {shown!r} (possible: {possible})")
    lists = {key: [value[key]] if isinstance(value[key], str) else value[key]
             for key in LISTS if key in value}  # fmt: skip
    try:
        rule = ApprovalRule.model_validate({"name": f"rule {number}"} | value | lists)
    except ValidationError as error:
        problem = error.errors()[0]
        at = ".".join(str(part) for part in problem["loc"])
        raise InvalidInput(f"{at}: {misfit_in_words(problem)} (got {problem['input']!r})") from None
    known = [*tools, *PSEUDO_TOOLS]
    for wanted in rule.tool:
        if not is_served(wanted) and not any(fnmatchcase(tool, wanted) for tool in known):
            raise unknown("tool", wanted, known)
    if SPEND in rule.tool and rule.over_usd is None:
        raise InvalidInput("a rule about `spend` needs `over_usd`, the dollars it begins at")
    return rule

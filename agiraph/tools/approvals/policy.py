"""ApprovalPolicy: rules that allow an action, deny it, or require approval; pure.

Rules are tried in order and the first that matches decides; an action without a matching rule is
allowed. A rule sees a `ProposedAction`: the tool (or `stage`, the start of a stage, or `spend`, a
model call), and its subject: a command, path, address or text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from glob import escape
from math import inf
from typing import Any, Literal

from pydantic import Field

from agiraph.core.models import ProposedAction
from agiraph.core.record import Record
from agiraph.settings.mcp_servers import SEPARATOR
from agiraph.tools.approvals.equivalents import as_read, equivalent_calls
from agiraph.tools.approvals.spellings import (
    NO_NAMES,
    SEARCHED,
    KnownNames,
    as_text,
    spellings_of,
    spellings_of_all,
    subject_as_judged,
    url_pattern,
)

GIVE_WORK = ("create_work_node", "launch_roles", "update_node")
CHECKS = "checks"

Action = Literal["allow", "ask", "deny"]
SEND = "send_message"
STAGE = "stage"
SPEND = "spend"
PSEUDO_TOOLS = (STAGE, SPEND)
ANYBODY = "*"
GLOB_SIGNS = frozenset("*?[]")
ANYTHING = "*?"
FETCH = "web_fetch"
SUBJECTS = ("command", "path", "url", "query", "to", "key", "name", "task", "role")
MAIN_SUBJECT = {
    "bash": "command",
    **dict.fromkeys(("read_file", "write_file", "edit_file", "list_files"), "path"),
    FETCH: "url",
    "web_search": "query",
}
"""The main subjects of these tools, also if an external agent adds other arguments."""

FURTHER_PATHS = "further_paths"
"""The argument in which the driver of an external agent names all files of a call."""

FURTHER_COMMANDS = "further_commands"
"""The argument in which the driver of an external agent names all commands of a call."""

POSSIBLE_COMMANDS = "possible_commands"
"""The argument in which that driver names the other texts of a call that may run a command."""

BASH = "bash"
UNREADABLE_COMMAND = "(a command that cannot be read)"
"""The subject of a call that runs an unknown command: each rule that asks or denies matches it."""

SEARCHING = "read_file"
"""The tool by whose rules a search is judged."""

ELSEWHERE = ("input/", "nodes/", "/", "~")
"""Beginnings of paths that are not in an agent's working folder."""

NAMES_A_PATH = re.compile(r"(?:^|[\s=:'\"(<>])(~[\w/]*|/[^\s'\";|&)<>]*)")
HARMLESS = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin")


class ApprovalRule(Record):
    """One rule. All its conditions must be true; `tool`, `worker`, `pattern` are globs.

    `outside`: only commands that name a path outside the entity's own folders. `sandboxed`: only if
    the entity's commands run in a sandbox (false: only if they do not). `over_usd`: only once the
    run has spent more. `remember` is the glob of subjects that "allow always" allows from then on
    (empty: exactly this subject).
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
class ActingEntity:
    """The entity that acts: its name, its role and its own folders."""

    name: str
    role: str = ""
    folders: tuple[str, ...] = ()
    is_sandboxed: bool = False


@dataclass(frozen=True, slots=True)
class SpelledAction:
    """An action, and further texts that name the same file, address or receiver as its subject.

    `is_effect`: the action is the effect of a call of another tool. Rules about every tool (`*`)
    judge that call, so they do not judge its effects again. `is_search`: the subject is a folder,
    and every file below it may be read. `is_possible`: the subject may be a command, so rules about
    certain commands judge it, but rules about every command do not.
    """

    act: ProposedAction
    spellings: tuple[str, ...] = ()
    is_effect: bool = False
    is_search: bool = False
    is_possible: bool = False


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """The policy's decision on an action; `rule` is None if no rule matched.

    `is_one_of_several`: the same call has further actions that need the person's approval.
    """

    action: Action
    act: ProposedAction
    rule: ApprovalRule | None = None
    is_one_of_several: bool = False

    @property
    def about(self) -> ProposedAction:
        """The action with its rule, and the subjects that "allow always" would allow.

        If the call has several such actions, the action can only be allowed once: an earlier
        approval of this action does not cover the others. An unreadable command can only be allowed
        once, too.
        """
        rule = self.rule or ApprovalRule(action=self.action)
        is_once = self.is_one_of_several or _is_unreadable(self.act)
        remember = "" if is_once else _remembered(rule, self.act)
        return self.act.model_copy(update={"rule": rule.name, "remember": remember})


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """The rules in force, in order."""

    rules: tuple[ApprovalRule, ...] = ()

    def needs_spent(self, actions: Sequence[SpelledAction]) -> bool:
        """Whether the run's spending may influence the decision on any of these actions."""
        return any(
            rule.over_usd is not None and _is_tool(rule, one.act.tool)
            for rule in self.rules
            for one in actions
        )

    def strict(self, tools: Sequence[str], who: ActingEntity | None = None) -> list[ApprovalRule]:
        """Return the rules that may ask for or deny a use of these tools (by `who`), in order."""
        return [
            rule
            for rule in self.rules
            if rule.action != "allow"
            and any(_is_tool(rule, tool) for tool in tools)
            and (who is None or _is_about(rule, who))
        ]

    def asking(self, about: ProposedAction, names: Sequence[str]) -> ApprovalRule | None:
        """Return the rule that requires exactly this approval of an entity, None if no rule does.

        `names` are the entity's name and role, empty if they are unknown. The conditions on its
        folders, its sandbox and the spent amount are not checked: only the entity knows them.
        """
        if not is_tool_name(about.tool):
            return None
        for rule in self.rules:
            is_named = rule.action == "ask" and rule.name == about.rule
            if (
                is_named
                and _names_one_of(rule, names)
                and _may_ask(rule, about)
                and about.remember in ("", _remembered(rule, about))
            ):
                return rule
        return None

    def judge(
        self, act: ProposedAction, who: ActingEntity, spent_usd: float = 0.0
    ) -> PolicyDecision:
        """Return the decision of the first matching rule, with the subject that the rule matches.

        Rules that ask or deny compare the other spellings of a subject, too; rules that allow, and
        rules about paths `outside`, do not.
        """
        return self._judge(SpelledAction(act), who, spent_usd)

    def denial(self, one: SpelledAction, name: str, role: str) -> PolicyDecision | None:
        """Return the decision on an action that is always denied, None for another action.

        For a process that does not know the entity's folders, sandbox and run's spending: rules
        with these conditions are decided only where the entity runs.
        """
        decisions = [
            self._judge(one, ActingEntity(name, role, folders, is_sandboxed), spent_usd)
            for folders in ((), ("/",))
            for is_sandboxed in (False, True)
            for spent_usd in (0.0, inf)
        ]
        return decisions[0] if all(one.action == "deny" for one in decisions) else None

    def judge_all(
        self, actions: Sequence[SpelledAction], who: ActingEntity, spent_usd: float = 0.0
    ) -> PolicyDecision:
        """Return the strictest decision on several actions of one call: deny, ask, allow."""
        decisions = [self._judge(one, who, spent_usd) for one in actions]
        found = min(decisions, key=lambda decision: ("deny", "ask", "allow").index(decision.action))
        asked = {(one.act.tool, one.act.subject) for one in decisions if one.action == "ask"}
        return replace(found, is_one_of_several=len(asked) > 1)

    def _judge(self, spelled: SpelledAction, who: ActingEntity, spent_usd: float) -> PolicyDecision:
        act, is_search = spelled.act, spelled.is_search
        others = [act.model_copy(update={"subject": text}) for text in spelled.spellings]
        for rule in self.rules:
            if spelled.is_effect and ANYBODY in rule.tool:
                continue
            if spelled.is_possible and (rule.outside or not rule.pattern.strip(ANYTHING)):
                continue
            judged = [act] if rule.action == "allow" or rule.outside else [act, *others]
            for one in judged:
                if _matches(rule, one, who, spent_usd, is_search=is_search):
                    return PolicyDecision(rule.action, one, rule)
        return PolicyDecision("allow", act)


def subject_of(arguments: Mapping[str, Any]) -> str:
    """Return the subject of a tool call: its command, path, address; else all its arguments."""
    return next(_subjects_in(arguments))[1]


def actions_of_call(
    tool: str, arguments: Mapping[str, Any], known: KnownNames = NO_NAMES
) -> list[SpelledAction]:
    """Return the actions of one call that the rules judge, with all names of their subjects.

    A call of an MCP tool has an action for each of its subjects. A call with the effect of other
    tools (`equivalents`) has their actions too. `known` has the names that the entity knows.
    """
    effects = (
        one
        for call in equivalent_calls(tool, arguments, known)
        for one in _actions_of(*call, known)
    )
    return [
        *_actions_of(tool, arguments, known),
        *(replace(one, is_effect=True) for one in effects),
        *_commands_of(arguments),
    ]


def _commands_of(arguments: Mapping[str, Any]) -> Iterator[SpelledAction]:
    """Yield the commands that a driver names in a call, and the texts that may be commands."""
    for name in (FURTHER_COMMANDS, POSSIBLE_COMMANDS):
        texts = arguments.get(name)
        for text in texts if isinstance(texts, list) else ():
            if isinstance(text, str):
                act = ProposedAction(tool=BASH, subject=text)
                yield SpelledAction(act, (text.strip(),), is_possible=name == POSSIBLE_COMMANDS)


def _actions_of(tool: str, arguments: Mapping[str, Any], known: KnownNames) -> list[SpelledAction]:
    subjects = sorted(_subjects_in(arguments), key=lambda one: one[0] != MAIN_SUBJECT.get(tool))
    judged = [
        SpelledAction(
            ProposedAction(tool=tool, subject=subject),
            (*spellings_of(tool, name, subject, known), arguments[name].strip())
            if name
            else spellings_of_all(arguments, known),
        )
        for name, subject in subjects
    ]
    if SEPARATOR in tool:
        return judged
    # A call of our own tools is one action. Its other subjects are further names of it.
    first, *others = judged
    more = (text for one in others for text in (one.act.subject, *one.spellings))
    actions = [replace(first, spellings=tuple(dict.fromkeys((*first.spellings, *more))))]
    further = arguments.get(FURTHER_PATHS)
    for path in further if isinstance(further, list) else ():
        actions += _actions_of(tool, {"path": path}, known)
    folder = arguments.get(SEARCHED)
    if tool == SEARCHING and isinstance(folder, str):
        actions += (
            replace(one, is_search=True) for one in _actions_of(tool, {"path": folder}, known)
        )
    return actions


def _subjects_in(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each subject."""
    found = False
    for name in SUBJECTS:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            found = True
            yield name, subject_as_judged(name, value)
    if not found:
        yield "", as_text(arguments)


def remembers(remembered: ProposedAction, act: ProposedAction) -> bool:
    """Whether the "allow always" of one action covers another."""
    return remembered.tool == act.tool and any(
        fnmatchcase(act.subject, pattern) for pattern in _patterns(remembered.remember, act)
    )


def names_outside(command: str, folders: Sequence[str]) -> bool:
    """Whether a command names a path outside `folders`; a guess, not a sandbox.

    Absolute paths, `~` and `..` count, including programs (`/usr/bin/env`); `/dev/null` does not.
    """
    if re.search(r"(?:^|[\s/='\"])\.\.(?:/|\s|$|['\"])", command):
        return True
    for path in NAMES_A_PATH.findall(command):
        inside = any(path == f or path.startswith(f.rstrip("/") + "/") for f in folders)
        if not inside and path not in HARMLESS:
            return True
    return False


def _matches(
    rule: ApprovalRule,
    act: ProposedAction,
    who: ActingEntity,
    spent_usd: float,
    *,
    is_search: bool = False,
) -> bool:
    return (
        _is_tool(rule, act.tool)
        and (_is_pattern_of(rule, act) or (is_search and _may_be_below(rule, act.subject)))
        and _is_about(rule, who)
        and (not rule.outside or _is_unreadable(act) or names_outside(act.subject, who.folders))
        and (rule.over_usd is None or spent_usd > rule.over_usd)
    )


def _may_be_below(rule: ApprovalRule, folder: str) -> bool:
    """Whether a rule that asks or denies may be about a file below `folder`."""
    beginning = re.split(r"[*?\[]", rule.pattern, maxsplit=1)[0].casefold()
    if folder == ".":  # the agent's working folder
        is_in = not beginning.startswith(ELSEWHERE)
    else:
        below = f"{folder.rstrip('/')}/".casefold()
        is_in = beginning.startswith(below) or below.startswith(beginning)
    return rule.action != "allow" and is_in


def _is_pattern_of(rule: ApprovalRule, act: ProposedAction) -> bool:
    """Whether a rule's pattern matches the subject of an action.

    A rule that asks or denies ignores case, and matches a message to everyone for each receiver,
    and an unreadable command.
    """
    patterns = _patterns(rule.pattern, act)
    if any(fnmatchcase(act.subject, pattern) for pattern in patterns):
        return True
    is_to_all = (act.tool, act.subject.strip()) == (SEND, "*")
    has_pattern = is_to_all or any(
        fnmatchcase(act.subject.casefold(), pattern.casefold()) for pattern in patterns
    )
    return rule.action != "allow" and (has_pattern or _is_unreadable(act))


def _is_unreadable(act: ProposedAction) -> bool:
    """Whether the command that an action runs is unknown."""
    return act.tool == BASH and act.subject == UNREADABLE_COMMAND


def _patterns(pattern: str, act: ProposedAction) -> tuple[str, ...]:
    """Return a pattern; if it is about an address also the address's canonical form."""
    is_address = act.tool == FETCH or "://" in act.subject
    return (pattern, url_pattern(pattern)) if is_address else (pattern,)


def _is_about(rule: ApprovalRule, who: ActingEntity) -> bool:
    """Whether a rule applies to an entity: its sandbox, and its name or role."""
    is_there = rule.sandboxed in (None, who.is_sandboxed)
    return is_there and _names_one_of(rule, (who.name, who.role))


def _names_one_of(rule: ApprovalRule, names: Sequence[str]) -> bool:
    """Whether a rule applies to an entity with one of these names."""
    return ANYBODY in rule.worker or any(
        fnmatchcase(own.casefold(), wanted.casefold())
        for wanted in rule.worker
        for own in names
        if own
    )


def _is_tool(rule: ApprovalRule, tool: str) -> bool:
    """Whether a rule is about a tool; `*` means every tool, but neither stage nor spend."""
    if tool in PSEUDO_TOOLS:
        return tool in rule.tool
    return any(fnmatchcase(tool, wanted) for wanted in rule.tool)


def is_tool_name(text: str) -> bool:
    """Whether a text can be the name of one tool: printable, and not a glob."""
    return bool(text) and text.isprintable() and not GLOB_SIGNS & set(text)


def _may_ask(rule: ApprovalRule, about: ProposedAction) -> bool:
    """Whether a rule is about an action; the subject of `spend` is the rule's name."""
    if about.tool == SPEND:
        return SPEND in rule.tool and bool(rule.over_usd) and about.subject == rule.name
    may_be_search = about.tool == SEARCHING and _may_be_below(rule, about.subject)
    return _is_tool(rule, about.tool) and (_is_pattern_of(rule, about) or may_be_search)


def _remembered(rule: ApprovalRule, act: ProposedAction) -> str:
    """Return the pattern of the subjects that the answer "allow always" allows."""
    return _this_very(act) if act.tool == SPEND else rule.remember or _this_very(act)


def _this_very(act: ProposedAction) -> str:
    return "*" if act.tool == STAGE else escape(act.subject)


def commands_in(tool: str, arguments: Mapping[str, Any]) -> list[str]:
    """Return the commands in the arguments of a call: the checks of new or changed nodes.

    Rules about `bash` apply to them too, in any form that a model has written: giving a command to
    another entity is equivalent to running it.
    """
    return list(_found(arguments)) if tool in GIVE_WORK else []


def _found(value: Any) -> Iterator[str]:
    value = as_read(value)
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _listed(inner) if key == CHECKS else _found(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _found(inner)


def _listed(value: Any) -> Iterator[str]:
    value = as_read(value)
    for one in value if isinstance(value, list | tuple) else (value,):
        if isinstance(one, str) and one.strip():
            yield one.strip()

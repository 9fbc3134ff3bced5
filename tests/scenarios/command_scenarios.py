"""PLAYS: each command of `--help` as a person types it, and its exit codes in different homes.

In a line `{done}` is an agent that has ended, `{node}` its node and `{worker}` its worker; `{asks}`
is an agent that waits for an answer, and `{question}` its question; `{mine}` is an old agent that
no other play uses, `{me}` the person's own word.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

import click

from agiraph.core.event_types import EVENT_TYPES
from cli.exits import DONE, FAILED, NO_SUPERVISOR, WRONG_USAGE
from tests.fakes.terminal_session import CommandOutput

Needs = Literal["nothing", "home", "supervisor"]
END: Final = "\x04"
"""The character that Ctrl-D types."""

NAMED = re.compile(r"{(?!me})\w+}")


class CommandScenario(NamedTuple):
    """A line, the process or home it needs, and its exit codes: several if people compete.

    A play without exit codes is not typed: it would end the supervisor, or start another.

    `typing` is the input after it has printed `asked`. `is_verbatim` if it prints the contents of a
    file, or JSON, whose lines have any length. `without` are its exit codes without the supervisor
    that it needs.
    """

    line: str
    needs: Needs = "nothing"
    codes: tuple[int, ...] = (DONE,)
    typing: str = ""
    asked: str = ""
    is_verbatim: bool = False
    without: tuple[int, ...] = (NO_SUPERVISOR,)

    def codes_without_supervisor(self) -> tuple[int, ...]:
        """Return its exit codes in a home with agents where no process runs."""
        return self.without if self.needs == "supervisor" else self.codes

    def codes_in_fresh_home(self) -> tuple[int, ...]:
        """Return its exit codes in a new home."""
        codes = self.codes_without_supervisor()
        if not NAMED.search(self.line):
            return codes
        return (WRONG_USAGE,) if self.needs == "home" else (*codes, WRONG_USAGE)


def reads(*lines: str, is_verbatim: bool = False) -> Iterator[CommandScenario]:
    """Yield plays of commands that only read."""
    for line in lines:
        yield CommandScenario(line, "home", is_verbatim=is_verbatim or "--json" in line)


def acts(*lines: str, codes: tuple[int, ...] = (DONE,), **more: Any) -> Iterator[CommandScenario]:
    """Yield plays of commands that need a supervisor."""
    for line in lines:
        yield CommandScenario(line, "supervisor", codes, **more)


def wrong(*lines: str) -> Iterator[CommandScenario]:
    """Yield plays of lines that are refused before any search."""
    for line in lines:
        yield CommandScenario(line, codes=(WRONG_USAGE,))


PLAYS: Final[tuple[CommandScenario, ...]] = (
    *wrong("agiraph", "agiraph rnu Survey", "agiraph run", "agiraph run hello --budget nonsense"),
    *wrong("agiraph chaos --hammer nobody", "agiraph local install everything"),
    *wrong("agiraph completion csh", "agiraph prune"),
    CommandScenario("agiraph --version"),
    CommandScenario("agiraph help triggers add", is_verbatim=True),
    CommandScenario("agiraph completion bash", is_verbatim=True),
    CommandScenario("agiraph models"),
    CommandScenario("agiraph outside"),
    CommandScenario("agiraph doctor"),
    CommandScenario("agiraph config show", is_verbatim=True),
    CommandScenario("agiraph config schema", is_verbatim=True),
    CommandScenario("agiraph approvals --rules"),
    CommandScenario("agiraph plan check tests/scenarios/plan.yaml"),
    CommandScenario("agiraph plan show tests/scenarios/plan.yaml"),
    CommandScenario("agiraph plan graph tests/scenarios/plan.yaml", is_verbatim=True),
    CommandScenario("agiraph plan schema", is_verbatim=True),
    *reads("agiraph plan export {done}", is_verbatim=True),
    *wrong("agiraph plan", "agiraph plan check README.md", "agiraph plan show nothing.yaml"),
    *wrong("agiraph local try hello --model local/none"),
    CommandScenario("agiraph mcp serve", typing=END),
    CommandScenario("agiraph init", codes=(DONE, FAILED), typing="n\n", asked="]: "),
    *reads("agiraph agents", "agiraph agents --search old --status completed", "agiraph ps"),
    *reads("agiraph ps {done}", "agiraph show {done} --runs"),
    *reads("agiraph show {done}", "agiraph messages {done}", is_verbatim=True),
    *reads("agiraph board {done}", "agiraph board {done} {node}", "agiraph workers {done}"),
    *reads("agiraph events {done} --limit 40", "agiraph files {done}", "agiraph memory {done}"),
    *reads("agiraph files {done} _output.md", "agiraph logs", is_verbatim=True),
    *reads(
        "agiraph memory {done} --search done", "agiraph usage", "agiraph usage {done} --by node"
    ),
    *reads("agiraph knowledge", "agiraph knowledge search 'Do a node'", "agiraph knowledge stats"),
    *reads("agiraph knowledge why {done}"),
    *reads("agiraph knowledge export", is_verbatim=True),
    *wrong("agiraph knowledge show nothing", "agiraph knowledge rm", "agiraph knowledge prune"),
    *acts("agiraph knowledge add preference 'Short reports' 'At most one page.'", without=()),
    *acts("agiraph knowledge prune --older-than 3000d --dry-run", without=()),
    *acts(
        "agiraph knowledge scan agiraph/http",
        "agiraph knowledge rm --agent nobody --yes",
        without=(),
    ),
    *wrong("agiraph knowledge export-obsidian README.md"),  # it is no folder
    *reads("agiraph budget", "agiraph triggers {done}", "agiraph triggers {done} list --all"),
    *reads("agiraph questions", "agiraph questions --all", "agiraph approvals", "agiraph archive"),
    *reads("agiraph result {done}", "agiraph transcript {done}", is_verbatim=True),
    *reads("agiraph prune --older-than 30d --dry-run", "agiraph wait {done}"),
    *reads("agiraph attach {done}"),
    *reads("agiraph agents --json", "agiraph show {done} --json", "agiraph board {done} --json"),
    *reads("agiraph dead", "agiraph channels", "agiraph channels waiting", "agiraph mcp list"),
    *reads("agiraph host list", "agiraph host list --json"),
    *acts("agiraph host invite --name north", codes=(FAILED,)),  # it does not listen
    *acts("agiraph host cordon north", "agiraph host uncordon north", codes=(WRONG_USAGE,)),
    *acts("agiraph host drain north", "agiraph host label north gpu", codes=(WRONG_USAGE,)),
    *acts("agiraph host remove north --yes", "agiraph move nobody north", codes=(WRONG_USAGE,)),
    *wrong("agiraph host join nonsense", "agiraph remotes forget nobody"),
    CommandScenario("agiraph host run", codes=(FAILED,)),
    CommandScenario("agiraph host leave", codes=(FAILED,)),
    CommandScenario("agiraph host unit", codes=(FAILED,)),
    CommandScenario("agiraph remotes"),
    *wrong("agiraph show nobody"),
    *acts("agiraph tokens", "agiraph tokens list", "agiraph logins", "agiraph status"),
    *reads("agiraph roles agents", "agiraph roles config"),
    *(
        CommandScenario(f"agiraph roles {word}", "home", (DONE, FAILED))
        for word in ("health", "validate")
    ),
    CommandScenario("agiraph roles turns {done}", "home", codes=(WRONG_USAGE,)),
    *acts("agiraph roles run 'Do it' --model nowhere/x", codes=(WRONG_USAGE,), without=()),
    CommandScenario(
        "agiraph agentic-shell", "supervisor", typing="/exit\n", asked="roles>", without=()
    ),
    *acts("agiraph audit", "agiraph audit --refused --limit 5"),
    *acts("agiraph top --once"),
    *acts("agiraph dead retry d-0", "agiraph channels retry dlv_0", codes=(WRONG_USAGE,)),
    *acts("agiraph channels test nothing", codes=(WRONG_USAGE,)),
    *acts("agiraph logout none", "agiraph respond q-z yes", codes=(WRONG_USAGE,)),
    *acts("agiraph run 'Nothing to do' --model openai/fake --name {me}", without=()),
    *acts("agiraph plan write 'Do no plan' --model openai/fake", codes=(FAILED,), without=()),
    *acts("agiraph up", codes=(FAILED,), without=()),  # the running supervisor belongs to a command
    *acts("agiraph down", codes=(), without=(DONE,)),
    *acts("agiraph send {done} 'Thank you'", "agiraph nudge {done} 'Only tables'"),
    *acts("agiraph console {done} --plain", typing=END),
    *acts("agiraph retry {done} {node}", codes=(FAILED, WRONG_USAGE)),  # it has not failed
    *acts("agiraph cancel {done} {node}", codes=(FAILED, WRONG_USAGE)),
    *acts("agiraph assign {done} {node} --to ada", codes=(FAILED, WRONG_USAGE)),
    *acts("agiraph budget {done} 900k-tokens", "agiraph away --until 2h", "agiraph back"),
    *acts("agiraph triggers {done} add 'Look again' --every 30m --name {me}"),
    *acts("agiraph triggers {done} pause {me}", "agiraph triggers {done} resume {me}"),
    *acts("agiraph triggers {done} fire {me}", "agiraph triggers {done} cancel {me}"),
    *acts("agiraph tokens add {me}", "agiraph tokens rotate {me}", "agiraph tokens revoke {me}"),
    *acts("agiraph login", "agiraph ui --no-browser", "agiraph logout --all"),
    *acts("agiraph step {asks}", "agiraph interrupt {done}", codes=(FAILED,)),
    *acts("agiraph pause {asks}", "agiraph resume {asks}", "agiraph restart {asks}"),
    *acts("agiraph kill {asks}", codes=(DONE, FAILED)),
    *acts("agiraph respond {question} 1", codes=(DONE, FAILED)),
    *acts("agiraph stop {asks}", "agiraph archive {mine}", "agiraph restore {mine}"),
    *acts("agiraph delete {mine}", codes=(FAILED,), typing="n\n", asked="[y/N]"),
    *acts("agiraph rm {mine} --yes", "agiraph prune --older-than 3000d --yes"),
)

NOT_A_WORD = re.compile(r"'[^']*'|{\w+}|(?<= )-\S+")


def path_of(play: CommandScenario) -> tuple[str, ...]:
    """Return the words of a play that may name its command."""
    return tuple(NOT_A_WORD.sub(" ", play.line).split()[1:])


def commands_in(
    group: click.Group, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield each command that `--help` names, below a group at its path; groups as well."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        yield (*above, name), command
        if isinstance(command, click.Group):
            yield from commands_in(command, (*above, name))


def does_something(command: click.Command) -> bool:
    """Whether a command is more than a group of others."""
    return not isinstance(command, click.Group) or command.invoke_without_command


# --- texts that a terminal must not show ---------------------------------------------------------

TRACEBACK: Final = {"a traceback": r"Traceback \(most recent|^ +File \".*\", line \d+"}
LEAKS: Final = TRACEBACK | {
    "an internal error": r"internal error|Errno|pydantic|validation error|\b0x[0-9a-f]{6}",
    "raw JSON or Python": r"""[{\[]['"]\w+['"][:,]|<class |<function |\b(?:None|True|False)\b""",
    "seconds since 1970": r"\b1[6-9]\d{8}(?:\.\d+)?\b",
    "a control character": r"[\x00-\x08\x0b-\x1f\x7f]",
}
EVENT: Final = "|".join(re.escape(one.name) for one in EVENT_TYPES)
RAW_EVENT: Final = {"a raw event": rf"(?<![\w./-])(?:{EVENT})(?![\w./-])"}
CUT_NAME = re.compile(r"\S*…")


def faults_of(play: CommandScenario, shown: CommandOutput) -> list[str]:
    """Return the faults in the output of a play on its terminal."""
    if play.is_verbatim:
        return list(_leaks(TRACEBACK, shown))
    columns = shown.size[0]
    wraps = [f"wraps: {line}" for line in shown.wrapped() if not _is_path(line, columns)]
    cuts = [f"its name is cut: {line}" for line in shown.lines if CUT_NAME.match(line)]
    leaks = LEAKS if play.line.startswith("agiraph events") else LEAKS | RAW_EVENT
    return [*wraps, *cuts, *_leaks(leaks, shown)]


def _is_path(line: str, columns: int) -> bool:
    """Whether a line is long because of a word that a person copies as a whole."""
    return max(map(len, line.split())) > columns // 2


def _leaks(leaks: Mapping[str, str], shown: CommandOutput) -> Iterator[str]:
    for what, pattern in leaks.items():
        yield from (f"{what}: {line}" for line in shown.lines if re.search(pattern, line))

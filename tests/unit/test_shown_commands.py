"""The real commands accept every command line of a page or of `--help`.

It is parsed as if it were typed, and nothing is run. A line of a code block is read by these rules:

- `$ `, variables before the command, and the folder of the program are left out;
- the text after `#`, two spaces or more, a redirection, or a pipe is not part of the command;
- `a | b | c X` are three lines, as are `a|b|c` in one word;
- words in `[...]` may be left out: the line must be valid with all of them and with none;
- a word in CAPITALS, `...` and `$NAME` stand for any value.

Between back quotes in the text a command may also be named without all that it needs.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
import pytest

from actors.supervisor.main import command as supervisor
from cli.main import agiraph
from tests.unit.pages import HISTORY, PAGES, Page, PagePiece

COMMANDS: Final[dict[str, click.Command]] = {
    "agiraph": agiraph,
    "agiraph-supervisor": supervisor,
}
PIPED_INTO: Final = ("grep", "head", "jq", "less", "tail")
_COMMAND = re.compile(
    r"(?:^\s*(?:\$ )?|[|;]\s*|&&\s*|=)"
    r"(?:[A-Z_]+=\S*\s+)*"
    r"(?:[\w.~/-]*/)?"
    r"(?P<line>agiraph(?:-supervisor)? +\S.*|agiraph-supervisor)$"
)
_STANDS_FOR_ANY = re.compile(r"[A-Z][A-Z0-9_:-]*|\.\.\.|\$\w+")
_PRINTED = re.compile(r"agiraph-supervisor ready:|agiraph-supervisor \d")


def command_line(text: str) -> str | None:
    """Return the command line of a shown line, without its explanation; None: none."""
    match = _COMMAND.search(text)
    if match is None or "──" in text:
        return None
    line = _outside_quotes(match["line"], r"\s{2,}|\s#|\s*\d?[<>]|;").strip()
    return _outside_quotes(line, rf"\s*\|\s*(?:{'|'.join(PIPED_INTO)})\b")


def _outside_quotes(line: str, end: str) -> str:
    """Cut a line where the pattern `end` is first found outside quotes."""
    pattern = re.compile(rf"""(?:"[^"]*"|'[^']*'|(?!{end}).)*""")
    match = pattern.match(line)
    assert match is not None
    return match[0]


def variants(line: str) -> list[list[str]]:
    """Return the command lines of a shown line, each as its words."""
    bare = re.sub(r"\s*\[[^\]]*\]", "", line)
    full = line.replace("[", "").replace("]", "")
    return [words for one in dict.fromkeys((bare, full)) for words in _alternatives(one)]


def _alternatives(line: str) -> Iterator[list[str]]:
    first, *others = (shlex.split(part) for part in re.split(r"\s\|\s", line))
    if not others:
        yield from _in_one_word(first)
        return
    tail = others[-1][1:]
    for choice in (first[-1], *(part[0] for part in others)):
        yield from _in_one_word([*first[:-1], choice, *tail])


def _in_one_word(words: list[str]) -> Iterator[list[str]]:
    for place, word in enumerate(words):
        if re.fullmatch(r"\w+(\|\w+)+", word):
            yield from ([*words[:place], one, *words[place + 1 :]] for one in word.split("|"))
            return
    yield words


@pytest.fixture(autouse=True)
def parsing_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands parse their arguments, run nothing, and accept placeholders for any value."""
    real = click.Parameter.process_value

    def process(option: click.Parameter, ctx: click.Context, value: Any) -> Any:
        given = value if isinstance(value, tuple | list) else (value,)
        if any(isinstance(one, str) and _STANDS_FOR_ANY.fullmatch(one) for one in given):
            return value
        return real(option, ctx, value)

    monkeypatch.setattr(click.Parameter, "process_value", process)
    monkeypatch.setattr(click.Path, "convert", lambda _self, value, _option, _ctx: Path(value))
    monkeypatch.setattr(click.Command, "invoke", lambda _self, _ctx: None)


def parse(words: list[str]) -> None:
    """Parse a command line as the real commands do; raise UsageError if they don't take it."""
    name, *rest = words
    command = COMMANDS[name]
    try:
        with command.make_context(name, rest) as ctx:
            command.invoke(ctx)
    except click.exceptions.Exit:
        pass  # `--help`, `--version`


def shown_in_code() -> list[PagePiece]:
    lines = (
        PagePiece(found.place, line)
        for name in PAGES
        for found in Page(name).code_lines()
        if (line := command_line(found.text))
    )
    return [found for found in lines if not _PRINTED.match(found.text)]


def shown_in_text() -> list[PagePiece]:
    return [
        PagePiece(found.place, line)
        for name in PAGES
        if name != HISTORY
        for found in Page(name).quoted()
        if re.match(r"[\w./]*agiraph(-supervisor)?\s", found.text)
        and not _PRINTED.match(found.text)
        and (line := command_line(found.text))
    ]


def named(found: PagePiece) -> str:
    return f"{found.place} {found.text}"


@pytest.mark.parametrize("found", shown_in_code(), ids=named)
def test_every_command_line_of_a_code_block_is_parsed(found: PagePiece) -> None:
    for words in variants(found.text):
        parse(words)


@pytest.mark.parametrize("found", shown_in_text(), ids=named)
def test_every_command_named_in_a_text_is_parsed(found: PagePiece) -> None:
    for words in variants(found.text):
        try:
            parse(words)
        except (click.MissingParameter, click.exceptions.NoArgsIsHelpError):
            pass
        except click.BadOptionUsage as error:
            if words[-1] != error.option_name:  # an option alone is named, without its value
                raise


def test_every_example_of_the_help_is_parsed() -> None:
    examples = [
        PagePiece(f"{command.name} --help", line)
        for command in _commands(agiraph)
        for text in (command.epilog or "").splitlines()
        if (line := command_line(text))
    ]
    assert len(examples) > len(COMMANDS)
    for found in examples:
        for words in variants(found.text):
            try:
                parse(words)
            except click.UsageError as error:
                pytest.fail(f"{named(found)}: {error.format_message()}")


def _commands(group: click.Group) -> Iterator[click.Command]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield command
        if isinstance(command, click.Group):
            yield from _commands(command)

"""`python -m tests.prose`: count phrases that replace nouns, per 1,000 words of each body of text.

The bodies are docstrings, comments, documentation pages, prompts, help texts, and the docstrings
and comments of tests. `Return what to ask the model now` avoids the noun (`Return the next model
request`), and its readers must open the code to learn it. `make check` fails if a body exceeds its
limit. `--list` prints each line with such a phrase, `--list docs` the lines of one body.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click

from tests.unit.pages import PAGES, ROOT, Found, Page

PRODUCT: Final = ("agiraph", "actors", "transport", "cli")
PHRASES: Final = re.compile(
    r"\b(what|who|whoever|whom|nobody|everybody|somebody|the one|ones? (?:that|who)"
    r"|that of|those (?:that|of|who)|anew|in vain|(?:is|are) told)\b",
    re.IGNORECASE,
)
WORD: Final = re.compile(r"[A-Za-z']+")
QUOTED: Final = re.compile(r"`[^`\n]*`")
PER: Final = 1000
LIMITS: Final = {
    "docstrings": 3.0,
    "comments": 3.0,
    "docs": 0.5,
    "prompts": 0.5,
    "help": 1.0,
    "tests": 1.0,
}
"""Occurrences per 1,000 words that a body may have. Lower a limit when its text has become better;
the aim is 3 for each."""


def python_lines(path: Path) -> Iterator[tuple[str, Found]]:
    """Yield each line of a source file's docstrings and comments, with the name of its body."""
    source, name = path.read_text("utf-8"), path.relative_to(ROOT).as_posix()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield "comments", Found(f"{name}:{token.start[0]}", token.string)
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
            continue
        if isinstance(node.value.value, str):
            for offset, text in enumerate(node.value.value.splitlines()):
                yield "docstrings", Found(f"{name}:{node.lineno + offset}", text)


def help_lines() -> Iterator[Found]:
    """Yield the help texts of commands and options, each text once, by its first command line."""
    from cli.main import agiraph

    seen: set[str] = set()

    def walk(command: click.Command, words: str) -> Iterator[Found]:
        texts = [(words, command.help or "")]
        texts += [(f"{words} {one.name}", getattr(one, "help", "") or "") for one in command.params]
        for place, text in texts:
            if text not in seen:
                seen.add(text)
                yield Found(place, text)
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                if below is not None:
                    yield from walk(below, f"{words} {name}")

    yield from walk(agiraph, "agiraph")


def bodies() -> dict[str, list[Found]]:
    """Return all lines of text for people, by body."""
    found: dict[str, list[Found]] = {name: [] for name in LIMITS}
    for folder in PRODUCT:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for body, line in python_lines(path):
                found[body].append(line)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        found["tests"] += [line for _, line in python_lines(path)]
    found["docs"] = [line for page in PAGES for line in Page(page).text_lines()]
    prompts = sorted((ROOT / "configs" / "prompts").rglob("*.md"))
    for path in prompts:
        found["prompts"] += Page(path.relative_to(ROOT).as_posix()).text_lines()
    found["help"] = list(help_lines())
    return found


def phrases_in(line: Found) -> list[str]:
    """Return the phrases of a line that replace a noun; names in back quotes do not count."""
    return [match[0] for match in PHRASES.finditer(QUOTED.sub("", line.text))]


def rate(lines: Iterable[Found]) -> float:
    """Return the number of phrases per 1,000 words."""
    texts = list(lines)
    words = sum(len(WORD.findall(line.text)) for line in texts)
    return PER * sum(len(phrases_in(line)) for line in texts) / max(1, words)


@click.command()
@click.option("--list", "listed", is_flag=False, flag_value="", help="Print the lines [of a body].")
def main(listed: str | None) -> None:
    """Print the rate of each body of text; exit with 1 if one exceeds its limit."""
    found, is_exceeded = bodies(), False
    for body, limit in LIMITS.items():
        now = rate(found[body])
        is_exceeded |= now > limit
        click.echo(f"{body:<11} {now:5.1f} per 1,000 words (limit {limit:g})")
        if listed is not None and listed in ("", body):
            for line in found[body]:
                if phrases := phrases_in(line):
                    click.echo(f"  {line.place}: {', '.join(phrases)}: {line.text.strip()}")
    if is_exceeded:
        click.echo("name the thing instead; `python -m tests.prose --list BODY` shows the lines")
    sys.exit(is_exceeded)


if __name__ == "__main__":
    main()

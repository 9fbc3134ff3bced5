"""`python -m tests.prose`: count phrases that replace nouns, per 1,000 words of each body of text.

The bodies are docstrings, comments, documentation pages, prompts, help texts, the docstrings and
comments of tests, and the subjects of the last commits. `Return what to ask the model now` avoids
the noun (`Return the next model request`), and its readers must open the code to learn it. `make
check` fails if a body exceeds its limit, or uses a forbidden phrase. `--list` prints each line with
a phrase that is counted, `--list docs` the lines of one body.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click

from tests.unit.pages import PAGES, ROOT, Page, PagePiece

PRODUCT: Final = ("agiraph", "actors", "transport", "cli")
PHRASES: Final = re.compile(
    r"\b(what|who|whoever|whom|nobody|everybody|somebody|the one|ones? (?:that|who)"
    r"|that of|those (?:that|of|who)|(?:is|are) told)\b",
    re.IGNORECASE,
)
FORBIDDEN: Final = re.compile(
    r"\b(anew|in vain|(?:is|are|lets?|has) let go|lets? go of|comes? of it|puts? by)\b",
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
    "commits": 3.0,
}
"""Occurrences per 1,000 words that a body may have. Lower a limit when its text has become better;
the aim is 3 for each. Text must have no word of FORBIDDEN."""
COMMITS: Final = 100
SUBJECT_LENGTH: Final = 72


def python_lines(path: Path) -> Iterator[tuple[str, PagePiece]]:
    """Yield each line of a source file's docstrings and comments, with the name of its body."""
    source, name = path.read_text("utf-8"), path.relative_to(ROOT).as_posix()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield "comments", PagePiece(f"{name}:{token.start[0]}", token.string)
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
            continue
        if isinstance(node.value.value, str):
            for offset, text in enumerate(node.value.value.splitlines()):
                yield "docstrings", PagePiece(f"{name}:{node.lineno + offset}", text)


def help_lines() -> Iterator[PagePiece]:
    """Yield the help texts of commands and options, each text once, by its first command line."""
    from cli.main import agiraph

    seen: set[str] = set()

    def walk(command: click.Command, words: str) -> Iterator[PagePiece]:
        texts = [(words, command.help or "")]
        texts += [(f"{words} {one.name}", getattr(one, "help", "") or "") for one in command.params]
        for place, text in texts:
            if text not in seen:
                seen.add(text)
                yield PagePiece(place, text)
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                if below is not None:
                    yield from walk(below, f"{words} {name}")

    yield from walk(agiraph, "agiraph")


def commit_lines() -> Iterator[PagePiece]:
    """Yield the subjects of the last COMMITS commits; none outside of a git repository."""
    log = ["git", "log", f"-{COMMITS}", "--no-merges", "--format=%h %s"]
    found = subprocess.run(log, cwd=ROOT, capture_output=True, text=True, check=False)
    for line in found.stdout.splitlines():
        commit, _, subject = line.partition(" ")
        yield PagePiece(commit, subject)


def bodies() -> dict[str, list[PagePiece]]:
    """Return all lines of text for people, by body."""
    found: dict[str, list[PagePiece]] = {name: [] for name in LIMITS}
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
    found["commits"] = list(commit_lines())
    return found


def phrases_in(line: PagePiece) -> list[str]:
    """Return the phrases of a line that replace a noun; names in back quotes do not count."""
    return [match[0] for match in PHRASES.finditer(QUOTED.sub("", line.text))]


def rate(lines: Iterable[PagePiece]) -> float:
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
    for line in (line for lines in found.values() for line in lines):
        if match := FORBIDDEN.search(QUOTED.sub("", line.text)):
            click.echo(f"{line.place}: do not use {match[0]!r}: {line.text.strip()}")
            is_exceeded = True
    for line in found["commits"]:
        if len(line.text) > SUBJECT_LENGTH:
            click.echo(f"{line.place}: a subject has at most {SUBJECT_LENGTH} characters")
            is_exceeded = True
    if is_exceeded:
        click.echo("name the thing instead; `python -m tests.prose --list BODY` shows the lines")
    sys.exit(is_exceeded)


if __name__ == "__main__":
    main()

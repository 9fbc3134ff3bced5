"""FirstHour: prose, and command lines that are really typed at a terminal of 80 columns, as a page.

What differs each time (ids, times, process ids, sizes) is written alike: `settled`. Of a long
output a part is shown; `...` stands for the rest.
"""

import os
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.fakes.model_server import FakeModelServer
from tests.fakes.terminal_session import CommandOutput, TerminalSession
from tests.scenarios.scenario_home import ROOT

PAGE: Final = ROOT / "docs" / "first-hour.md"
REST: Final = "..."
Part = Callable[[Sequence[str]], Sequence[str]]

VOLATILE: Final[tuple[tuple[str, str], ...]] = (
    (r"\b20\d{6}-\d{6}-[0-9a-f]{6}\b", "20260401-091500-3b7c21"),
    (r"\b20\d{6}-\d{6}-[0-9a-f]+…", "20260401-091500-3…"),
    (r"\b20\d\d-\d\d-\d\d\b", "2026-04-01"),
    (r"\b\d\d:\d\d:\d\d\b", "09:15:00"),
    (r"(?<=[a-z]-)[0-9a-f]{6}\b", "4f2a91"),
    (r"(?<=  )[0-9a-f]{6}(?=  )", "3fa9c1"),
    (r"\bq-[0-9a-f]{8}\b", "q-3fa9c1d0"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:8765"),
    (r"(?m)^another program has port .*\n", ""),  # other tests have homes, too
    (r"\b\d+(?:\.\d+)? s\b", "1.2 s"),
    (r"\b\d+(?:\.\d+)? (?=[KMG]?B\b)", "40 "),
    (r"(?<=, 40 )GB", "MB"),  # where processes are forked they share most of it
    (r"(?m)^ +\d+(?=  09:15:00)", "   12"),
    (r"(?<=pid )\d+", "40187"),
    (r"(/coordinator.* )\d{3,7}(?=   )", r"\g<1>40209"),
    (r"(/ada-.* )\d{3,7}(?=   )|(?<=kill -9 )\d+", r"\g<1>40216"),
    (FakeModelServer.key, "..."),
    (r"(?m)\w+…$", "…"),  # where a line is cut depends on the width of a process id
)
"""Values that differ each time, and their replacements."""


def whole(lines: Sequence[str]) -> Sequence[str]:
    """Show all lines."""
    return lines


def ends(first: int, last: int) -> Part:
    """Show so many of the first lines, and of the last."""

    def part(lines: Sequence[str]) -> Sequence[str]:
        return [*lines[:first], REST, *lines[len(lines) - last :]]

    return part


def those(pattern: str) -> Part:
    """Show the lines that contain this text, with their continuation lines."""

    def part(lines: Sequence[str]) -> Sequence[str]:
        shown: list[str] = []
        is_on = False
        for line in lines:
            is_on = bool(re.search(pattern, line)) or (is_on and line.startswith("     "))
            if is_on:
                shown.append(line)
            elif shown[-1:] != [REST]:
                shown.append(REST)
        return shown

    return part


def settled(text: str, home: Path) -> str:
    """Return a text as it is on the page: varying values are replaced."""
    text = text.replace(str(home), "/home/you")
    for pattern, written in VOLATILE:
        text = re.sub(pattern, written, text)
    return text


def told(page: str) -> list[str]:
    """Return the common part of two pages.

    The lines of a block come in any order, for a team's do; how many spaces align a table depends
    on what stands in it.
    """
    alike = re.sub(r"(?<=\S)(?: {2,}|(?:─| )+$)", " ", re.sub("─+", "─", page), flags=re.M)
    return ["\n".join(sorted(block.splitlines())) for block in alike.split("```")]


class FirstHour:
    """The page as it grows, and the terminal at which it is typed."""

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        """Sit down in the folder `home`, which is the person's own."""
        variables = {"HOME": str(home), "LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"], **environ}
        self.home = home
        self.terminal = TerminalSession(home, variables)
        self._pieces: list[str] = []

    def say(self, prose: str) -> None:
        """Add paragraphs."""
        self._pieces.append(textwrap.dedent(prose).strip())

    def type(
        self, line: str, *, part: Part = whole, code: int = 0, typing: str = ""
    ) -> CommandOutput:
        """Type a command line, show it with its output, and return the output."""
        self.terminal.start(line)
        if typing:
            self.terminal.type(typing)
        return self.ended(line, part=part, code=code)

    def ended(self, line: str, *, part: Part = whole, code: int = 0) -> CommandOutput:
        """Wait for the end of the line that was typed, and show both."""
        shown = self.terminal.finished()
        assert shown.code == code, f"{line} ended with {shown.code}: {shown.text}"
        block = "\n".join([f"$ {line}", *part(shown.lines)])
        block = f"```\n{settled(block, self.home).rstrip()}\n```"
        joins = self._pieces[-1].endswith("```")
        if joins:
            self._pieces[-1] = self._pieces[-1].removesuffix("\n```") + "\n" + block[4:]
        else:
            self._pieces.append(block)
        return shown

    def text(self) -> str:
        """Return the page."""
        return "\n\n".join(self._pieces) + "\n"

    def leave(self) -> None:
        """Close the terminal."""
        self.terminal.close()

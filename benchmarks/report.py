"""What a benchmark found: ratios with their aims, and the page that shows them."""

import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import zmq

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->\n"
QUIET_LOAD = 0.3
HEADS = ("measured", "ratio", "aim", "", "relative to", "numbers on this machine")


@dataclass(frozen=True, slots=True)
class Figure:
    """The ratio of ours to `peer`, both measured in the same run.

    `wanted` says whether the aim is a floor or a ceiling; `seen` are the numbers behind the ratio,
    which hold for one machine only. A figure without a ratio was not measured; `seen` says why.
    """

    what: str
    peer: str
    ratio: float | None
    wanted: Literal["at least", "at most"]
    aim: float
    seen: str

    @property
    def verdict(self) -> str:
        """Return whether the ratio is as good as it should be."""
        if self.ratio is None:
            return "not measured"
        is_met = self.ratio >= self.aim if self.wanted == "at least" else self.ratio <= self.aim
        return "met" if is_met else "missed"


def at_most(what: str, peer: str, ratio: float, aim: float, seen: str) -> Figure:
    """Return a figure that should be no larger than `aim`."""
    return Figure(what, peer, ratio, "at most", aim, seen)


def at_least(what: str, peer: str, ratio: float, aim: float, seen: str) -> Figure:
    """Return a figure that should be no smaller than `aim`."""
    return Figure(what, peer, ratio, "at least", aim, seen)


def not_measured(what: str, why: str) -> Figure:
    """Return a row that says why there is no figure."""
    return Figure(what, "", None, "at most", 0.0, why)


def table(figures: list[Figure]) -> str:
    """Return the figures as a Markdown table, which reads well in a terminal too."""
    return markdown([HEADS, *map(_cells, figures)])


def markdown(rows: list[tuple[str, ...]]) -> str:
    """Return rows, the first of them the headings, as an aligned Markdown table."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def _cells(figure: Figure) -> tuple[str, ...]:
    if figure.ratio is None:
        return figure.what, "", "", figure.verdict, "", figure.seen
    aim = f"{figure.wanted} {figure.aim:.3g}"
    return figure.what, f"{figure.ratio:.3g}", aim, figure.verdict, figure.peer, figure.seen


def write_page(figures: list[Figure], load: float, names: tuple[str, ...] = ()) -> None:
    """Replace the figures in docs/benchmarks.md; `load` is the load average before measuring.

    With names, those of the benchmarks that were run, other rows stay as they were measured.
    """
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    shown, _, after = rest.partition(END)
    rows = {_key(cells): cells for cells in map(_cells, figures)}
    told = f"Measured on {datetime.now(UTC):%Y-%m-%d}, on {machine()}. {_noise(load)}"
    if names:
        lines = [line for line in shown.splitlines() if line]
        kept = [tuple(map(str.strip, line[1:-1].split("|"))) for line in lines if line[0] == "|"]
        rows = {_key(cells): cells for cells in kept[2:]} | rows
        those = f"{', '.join(names)}: "
        others = [line for line in lines if line[0] != "|" and not line.startswith(those)]
        told = "\n\n".join([*others, f"{those}{told[0].lower()}{told[1:]}"])
    page = f"{before}{BEGIN}\n{markdown([HEADS, *rows.values()])}\n\n{told}\n\n{END}{after}"
    PAGE.write_text(page, encoding="utf-8")


def _key(cells: tuple[str, ...]) -> tuple[str, str]:
    """Return what makes a row the same in two measurements: what is measured, beside what."""
    return cells[0], cells[4]


def _noise(load: float) -> str:
    if load < QUIET_LOAD:
        return f"The machine was quiet (load average {load:.1f})."
    return (
        f"The machine was busy with other work (load average {load:.1f}): these ratios are rough, "
        "most of all for round trips and process starts."
    )


def machine() -> str:
    """Return what this machine is, without its name."""
    return ", ".join(
        [
            f"{os.cpu_count()} cores ({_processor()})",
            f"{platform.system()} {platform.release().split('-')[0]}",
            f"Python {platform.python_version()}",
            f"pyzmq {zmq.pyzmq_version()} with libzmq {zmq.zmq_version()}",
        ]
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()

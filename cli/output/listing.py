"""The output of a command: a listing, a record, or a result; for people or as JSON.

A listing is a table that fits the terminal, plain columns in a pipe, or a JSON array.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import click
from pydantic import BaseModel

from cli.exits import DONE, FAILED
from cli.options.everywhere import remark
from cli.output.formats import as_is, format_money, format_time
from cli.sanitize import broken_for, one_line, printable

JsonObject = dict[str, Any]
WIDE_LEAST, WRAPPED_LEAST = 16, 32
GAP = 3
Show = Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: a heading, the key of its value in a row, and the format of the value.

    With the key '' the whole row is formatted. A `wide` column gets the remaining width, and is cut
    to it, or continues in the next line if it `wraps`. Columns with a `spare` number are left out
    of a table that is too narrow for them, the highest number first.
    """

    heading: str
    key: str
    show: Show = as_is
    align: Literal["left", "right"] = "left"
    wide: bool = False
    wraps: bool = False
    spare: int = 0

    def cell(self, row: Mapping[str, Any]) -> str:
        """Return the cell of this column in a row."""
        return one_line(self.show(row.get(self.key) if self.key else row))


@dataclass(frozen=True, slots=True)
class Listing:
    """Records to print, shown to people in these columns; `empty` (on stderr) if there are none.

    `rows` are shown to people instead, if given.
    """

    records: Iterable[BaseModel | JsonObject]
    columns: Sequence[Column]
    empty: str
    rows: Sequence[JsonObject] | None = None

    def print(self, *, as_json: bool) -> int:
        """Print a JSON array, a table on a terminal, plain columns elsewhere; return DONE."""
        rows = to_rows(self.records) if as_json or self.rows is None else self.rows
        if as_json:
            print_json(rows)
        elif not rows:
            remark(self.empty)
        elif sys.stdout.isatty():
            _print_table(rows, self.columns)
        else:
            _print_columns(rows, self.columns)
        return DONE


@dataclass(frozen=True, slots=True)
class Details:
    """One record in all its fields; `shown` is shown to people instead, if given."""

    record: BaseModel
    shown: JsonObject | None = None

    def print(self, *, as_json: bool) -> int:
        """Print a JSON object, or a line for each field with a value; return DONE."""
        record = to_rows([self.record])[0]
        if as_json:
            print_json(record)
            return DONE
        fields = self.shown or record
        shown = {key: value for key, value in fields.items() if value not in (None, "", [], {})}
        width = max(map(len, shown), default=0)
        for key, value in shown.items():
            if isinstance(value, list):
                value = ", ".join(map(str, value))
            text = printable(_field(key, value)).strip()
            name = key.replace("_", " ").ljust(width)
            click.echo(f"{name}  {broken_for(sys.stdout, text, width + 2)}")
        return DONE


def _field(key: str, value: Any) -> str:
    """Return a field formatted for people: a time, an amount of money, or any other value."""
    if key.endswith("_at"):
        return format_time(value)
    return format_money(value) if key.endswith("_usd") else as_is(value)


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a command: a record for programs, one line for people.

    A `remark` goes to stderr.
    """

    record: BaseModel | JsonObject | Sequence[BaseModel]
    text: str
    remark: str = ""
    has_failed: bool = False

    def print(self, *, as_json: bool) -> int:
        """Print the result, a failure on stderr; return the exit code."""
        if as_json:
            record = self.record
            print_json(
                to_rows([record])[0] if isinstance(record, BaseModel | dict) else to_rows(record)
            )
            return FAILED if self.has_failed else DONE
        if self.text:
            click.echo(self.text)
        if self.has_failed:
            click.echo(self.remark, err=True)
        elif self.remark:
            remark(self.remark)
        return FAILED if self.has_failed else DONE


Shown = Listing | Details | Done


def to_rows(records: Iterable[BaseModel | JsonObject]) -> list[JsonObject]:
    """Return records as JSON objects."""
    return [
        r.model_dump(mode="json", by_alias=True) if isinstance(r, BaseModel) else dict(r)
        for r in records
    ]


def print_json(value: Any) -> None:
    """Print one JSON value and nothing else on stdout."""
    indent = 2 if sys.stdout.isatty() else None
    click.echo(json.dumps(value, indent=indent, ensure_ascii=True, default=str))


def _cells(row: JsonObject, columns: Sequence[Column]) -> list[str]:
    return [column.cell(row) for column in columns]


def _print_columns(rows: Sequence[JsonObject], columns: Sequence[Column]) -> None:
    """Print aligned, uncut columns; an empty cell is a dash, so that fields can be counted."""
    table = [[column.heading for column in columns]]
    table += [[cell or "-" for cell in _cells(row, columns)] for row in rows]
    widths = [min(max(map(len, cells)), 60) for cells in zip(*table, strict=True)]
    for line in table:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(padded).rstrip())


def _print_table(rows: Sequence[JsonObject], columns: Sequence[Column]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    columns = fitting(rows, columns, console.width)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        table.add_column(
            column.heading,
            justify=column.align,
            no_wrap=not column.wraps,
            overflow="fold" if column.wraps else "ellipsis",
            ratio=1 if column.wide else None,
            min_width=WIDE_LEAST if column.wide else None,
        )
    table.expand = any(column.wide for column in columns)
    for row in rows:
        cells = zip(_cells(row, columns), columns, strict=True)
        table.add_row(*(Text(cell, style=_style(c.key, cell)) for cell, c in cells))
    console.print(table)


def fitting(rows: Sequence[JsonObject], columns: Sequence[Column], width: int) -> Sequence[Column]:
    """Return the columns that fit a terminal of `width`, without spare ones if necessary."""
    left = list(columns)
    while _width(rows, left) > width and any(column.spare for column in left):
        left.remove(max(left, key=lambda column: column.spare))
    return left


def _width(rows: Sequence[JsonObject], columns: Sequence[Column]) -> int:
    """Return the width of a table, with the wide column at its minimum."""
    table = [[c.heading for c in columns], *(_cells(row, columns) for row in rows)]
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    needed = (
        min(width, WRAPPED_LEAST if column.wraps else WIDE_LEAST) if column.wide else width
        for width, column in zip(widths, columns, strict=True)
    )
    return sum(needed) + GAP * (len(columns) - 1)


_STYLES = {
    **dict.fromkeys(("completed", "ready", "done", "ok", "yes", "answered"), "green"),
    **dict.fromkeys(("failed", "cancelled", "stopped", "standing_still", "fail", "no"), "red"),
    **dict.fromkeys(("working", "running", "busy", "starting"), "cyan"),
    **dict.fromkeys(("waiting_for_human", "paused", "open", "warn", "backing off"), "yellow"),
}


def _style(key: str, cell: str) -> str:
    return _STYLES.get(cell, "") if key in ("state", "status", "usable") else ""

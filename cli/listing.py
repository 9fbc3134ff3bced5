"""Listings: rows as a table that fits the terminal, as plain columns in a pipe, or as JSON."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import click
from pydantic import BaseModel

from cli.formats import as_is, format_time
from cli.sanitize import one_line, printable

JsonObject = dict[str, Any]
WIDE_LEAST = 16
GAP = 3
Show = Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: a heading, the row's key, and how its value is shown.

    A `wide` column takes the width that the others leave, and is cut to it. Columns with a `spare`
    number are left out of a table that is too narrow for them, the highest number first.
    """

    heading: str
    key: str
    show: Show = as_is
    align: Literal["left", "right"] = "left"
    wide: bool = False
    spare: int = 0


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


def print_result(record: BaseModel, text: str, *, as_json: bool) -> None:
    """Print what a command has done: the record as JSON, or one line."""
    if as_json:
        print_json(to_rows([record])[0])
    else:
        click.echo(text)


def print_listing(
    rows: Sequence[JsonObject], columns: Sequence[Column], *, as_json: bool, empty: str
) -> None:
    """Print rows: a JSON array, a table on a terminal, plain columns elsewhere.

    `empty` is printed on stderr if there are no rows.
    """
    if as_json:
        print_json(list(rows))
    elif not rows:
        click.echo(empty, err=True)
    elif sys.stdout.isatty():
        _print_table(rows, columns)
    else:
        _print_columns(rows, columns)


def _cells(row: Mapping[str, Any], columns: Sequence[Column]) -> list[str]:
    return [one_line(column.show(row.get(column.key))) for column in columns]


def _print_columns(rows: Sequence[JsonObject], columns: Sequence[Column]) -> None:
    """Print aligned columns with nothing cut; an empty cell is a dash, so that fields count."""
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
            no_wrap=True,
            overflow="ellipsis",
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
    """Return how wide a table is, with the wide column at its minimum."""
    table = [[c.heading for c in columns], *(_cells(row, columns) for row in rows)]
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    needed = (
        min(width, WIDE_LEAST) if column.wide else width
        for width, column in zip(widths, columns, strict=True)
    )
    return sum(needed) + GAP * (len(columns) - 1)


_STYLES = {
    **dict.fromkeys(("completed", "ready", "done", "ok", "yes", "answered"), "green"),
    **dict.fromkeys(("failed", "cancelled", "stopped", "fail", "no"), "red"),
    **dict.fromkeys(("working", "running", "busy", "starting"), "cyan"),
    **dict.fromkeys(("waiting_for_human", "paused", "open", "warn", "backing off"), "yellow"),
}


def _style(key: str, cell: str) -> str:
    return _STYLES.get(cell, "") if key in ("state", "status", "usable") else ""


def print_record(record: JsonObject, *, as_json: bool) -> None:
    """Print one record: a JSON object, or a line for each field that has a value."""
    if as_json:
        print_json(record)
        return
    shown = {key: value for key, value in record.items() if value not in (None, "", [], {})}
    width = max(map(len, shown), default=0)
    for key, value in shown.items():
        text = format_time(value) if key.endswith("_at") else as_is(value)
        click.echo(f"{key.replace('_', ' ').ljust(width)}  {_indented(text, width + 2)}")


def _indented(text: str, by: int) -> str:
    return printable(text).strip().replace("\n", "\n" + " " * by)

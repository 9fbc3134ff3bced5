"""`python -m tests.clients`: play real external agents, print the results, exit 1 if worse."""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psutil

from tests.clients import table
from tests.clients.catalog import CASES, CLIENTS, Client, ClientRelease, Newest, plan
from tests.clients.judge import Cell, ObservedRun, as_json, is_worse, judged
from tests.clients.play import ClientHome, placed, play
from tests.fakes.real_agents import CannotInstall, newest

CASE_SECONDS = 300.0
ALL_SECONDS = 7200.0


def main(words: Sequence[str] | None = None) -> int:
    """Play the requested releases; return the exit code."""
    wanted = _read(words)
    clients = [one for one in CLIENTS if not wanted.only or one.name in wanted.only]
    if wanted.list:
        _list(clients)
        return 0
    rows, until = plan(clients, _newest(wanted.known)), time.monotonic() + wanted.all_seconds
    results: list[table.Result] = []
    for row in rows:
        results.append(_play_row(row, wanted, until))
        _keep(results, wanted.json)
    _report(results, wanted)
    worse = [
        f"{row.client.name} {row.release.version}: {name}"
        for row, cells in results
        for name, cell in cells.items()
        if is_worse(cell, row.client.declared[name])
    ]
    missing = [f"{row.client.name}: {row.problem}" for row, _ in results if row.problem]
    for one in [*worse, *missing]:
        print(f"worse than declared: {one}", file=sys.stderr)
    return 1 if worse or missing else 0


def _read(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.clients", description=__doc__)
    names = ", ".join(one.name for one in CLIENTS)
    parser.add_argument("--only", type=_names, default=[], help=f"NAME[,NAME] among {names}")
    parser.add_argument("--case", choices=[*CASES], action="append", help="this case alone")
    parser.add_argument("--known", action="store_true", help="the last known releases alone")
    parser.add_argument("--list", action="store_true", help="list agents and releases, play none")
    parser.add_argument(
        "--write", action="store_true", help=f"write the table into {table.PAGE.name}"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was judged")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the homes there")
    parser.add_argument("--case-seconds", type=float, default=CASE_SECONDS, metavar="SECONDS")
    parser.add_argument("--all-seconds", type=float, default=ALL_SECONDS, metavar="SECONDS")
    wanted = parser.parse_args(words)
    wanted.case = wanted.case or [*CASES]
    if wanted.write and (wanted.only or len(wanted.case) < len(CASES)):
        parser.error("--write writes the whole table: leave out --only and --case")
    return wanted


def _names(text: str) -> list[str]:
    names, known = text.split(","), [one.name for one in CLIENTS]
    if unknown := [name for name in names if name not in known]:
        raise argparse.ArgumentTypeError(
            f"unknown: {', '.join(unknown)} (known: {', '.join(known)})"
        )
    return names


def _newest(only_known: bool) -> Newest:
    if only_known:
        return lambda known: (known.version, 0)
    return lambda known: newest(known.kind, known.package)


def _list(clients: Sequence[Client]) -> None:
    for one in clients:
        known = one.known
        lacks = ", ".join(f"{name}: {word}" for name, word in one.lacks.items())
        node = f", Node {known.node}" if known.node else ""
        print(f"{one.name:18} {known.package} {known.version}{node}{lacks and f'  ({lacks})'}")


def _play_row(row: ClientRelease, wanted: argparse.Namespace, until: float) -> table.Result:
    """Play one release; a release that cannot be installed is a row with that problem."""
    title = f"{row.client.name} {row.release.version}"
    if row.problem:
        print(f"{title}: {row.problem}", flush=True)
        return row, {}
    cells: dict[str, Cell] = {}
    try:
        with (
            _folder(row, wanted.keep) as folder,
            placed(folder, row.release) as live_home,
        ):
            for case in wanted.case:
                left = min(wanted.case_seconds, until - time.monotonic())
                cells |= _play_case(live_home, row, case, left)
    except CannotInstall as error:
        print(f"{title}: {error}", flush=True)
        return replace(row, problem=str(error)), {}
    except AssertionError as error:  # processes were left behind as the supervisor ended
        print(f"{title}: {error}", flush=True)
        row = replace(row, problem=str(error))
    return row, cells


@contextmanager
def _folder(row: ClientRelease, keep: Path | None) -> Iterator[Path]:
    """Yield a folder, which is removed after the block unless it is in `keep`."""
    if keep is not None:
        folder = (keep / f"{row.client.name}-{row.release.version}").resolve()
        folder.mkdir(parents=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="agiraph-clients-") as made:
        yield Path(made)


def _play_case(
    live_home: ClientHome, row: ClientRelease, case: str, seconds: float
) -> dict[str, Cell]:
    began = time.monotonic()
    print(f"{row.client.name} {row.release.version}: {case} ...", flush=True)
    try:
        seen = play(live_home, row.client, case, max(0.0, seconds))
    except (AssertionError, psutil.Error, OSError) as error:
        seen = ObservedRun("", f"{type(error).__name__}: {error}")
    cells = judged(case, row, seen)
    took = time.monotonic() - began
    for name, cell in cells.items():
        mark = "  WORSE" if is_worse(cell, row.client.declared[name]) else ""
        print(f"    {name:16} {cell.word:8} {cell.why}{mark}", flush=True)
    print(f"    ({took:.0f} s)", flush=True)
    return cells


def _keep(results: Sequence[table.Result], file: Path | None) -> None:
    """Write the results so far."""
    if file is not None:
        rows = [as_json(row, cells) for row, cells in results]
        file.write_text(json.dumps({"date": _today(), "rows": rows}, indent=2) + "\n", "utf-8")


def _report(results: Sequence[table.Result], wanted: argparse.Namespace) -> None:
    print("\n" + table.rendered(results, _today()))
    if wanted.write:
        table.write(results, _today())


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


if __name__ == "__main__":
    sys.exit(main())

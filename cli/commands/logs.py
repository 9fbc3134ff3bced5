"""`agiraph logs`: the logs of the processes of a home."""

import time
from datetime import UTC, datetime
from pathlib import Path

import click

from agiraph.core.errors import InvalidInput
from agiraph.logs.logbook import LEVELS, JsonObject, LogQuery, LogTail, logs_of, read_past
from agiraph.storage.files import is_folder
from agiraph.storage.home import Home
from cli.exits import STDOUT, end_when_unread
from cli.options.everywhere import remark
from cli.options.shared import PAST_TIME, examples, home_option, json_option
from cli.sanitize import one_line, printable

POLL_SECONDS = 0.2
LINES = 200
COLORS = {"debug": "bright_black", "warning": "yellow", "error": "red", "critical": "red"}
SHOWN_APART = ("timestamp", "level", "event", "entity", "incarnation", "exception")


@click.command(
    epilog=examples(
        "agiraph logs my-agent",
        "agiraph logs alice -f",
        "agiraph logs broker --since 10m --level warning",
        "agiraph logs --level error --json",
    )
)
@click.argument("entity", required=False)
@click.option("-f", "--follow", is_flag=True, help="Follow new lines until Ctrl-C.")
@click.option(
    "--since",
    type=PAST_TIME,
    help="Since: 10m, 18:30 or 2026-05-01T09:00.",
)
@click.option(
    "--level", type=click.Choice(LEVELS), default="debug", help="Only this level and above."
)
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(min=0),
    help=f"The number of lines to show [default: {LINES}].",
)
@home_option
@json_option("one JSON object a line")
def logs(
    entity: str | None,
    follow: bool,
    since: float | None,
    level: str,
    lines: int | None,
    home: Path,
    as_json: bool,
) -> None:
    """Show the logs of the processes of ENTITY; without ENTITY, of all.

    ENTITY is an address as `agiraph ps` lists it, a worker's name, an agent (its whole team) or a
    service such as broker. Needs no supervisor. With --since all lines are shown.
    """
    wanted = LogQuery(_iso(since) if since else "", level)
    folder = Home(home).system.logs
    files = [] if follow and entity is None and not is_folder(folder) else logs_of(folder, entity)
    tails = {file: LogTail(file) for file in files} if follow else {}
    shown = read_past(files, wanted)
    most = lines if lines is not None else (len(shown) if since else LINES)
    for line in shown[len(shown) - most :] if most < len(shown) else shown:
        _print(line, as_json)
    if not shown and not follow:
        remark("no log lines")
    if follow:
        end_when_unread(STDOUT)
    try:
        while follow:
            _print_new(folder, entity, tails, wanted, as_json)
            time.sleep(POLL_SECONDS)
    except KeyboardInterrupt:
        pass
    finally:
        for tail in tails.values():
            tail.close()


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _print_new(
    folder: Path, entity: str | None, tails: dict[Path, LogTail], wanted: LogQuery, as_json: bool
) -> None:
    """Print the new lines of the logs, including logs that were created since."""
    try:
        for file in logs_of(folder, entity):
            if file not in tails:
                tails[file] = LogTail(file, from_start=True)
    except InvalidInput:
        pass  # its log was removed; another may be created
    new = [line for tail in tails.values() for line in tail.new() if wanted.matches(line)]
    for line in sorted(new, key=lambda line: str(line.get("timestamp", ""))):
        _print(line, as_json)


def _print(line: JsonObject, as_json: bool) -> None:
    import json

    if as_json:
        click.echo(json.dumps(line, ensure_ascii=True))
        return
    level = str(line.get("level", ""))
    fields = " ".join(f"{key}={value}" for key, value in line.items() if key not in SHOWN_APART)
    stamp = str(line.get("timestamp", ""))[:23]
    text = f"{stamp} {level:7} {line.get('entity', '')}: {line.get('event', '')} {fields}".rstrip()
    color = COLORS.get(level)
    click.echo(click.style(one_line(text), fg=color) if color else one_line(text))
    if line.get("exception"):
        click.echo(printable(str(line["exception"])))

"""`agiraph result`: the final answer of a run, printed or written, and its other results."""

import sys
from pathlib import Path

import click

from agiraph.core.models import ENDED_AGENT
from agiraph.storage.file_names import spelled
from cli.commands.agents import run_of
from cli.exits import DONE, FAILED
from cli.options.everywhere import remark
from cli.options.shared import connect_to_read, examples, home_option, json_option, run_option
from cli.output.listing import print_json
from cli.run.deliverables import deliver, deliverables, output_options, wanted_destination
from cli.sanitize import printable

RUNNING = "running"
STOPPED = "stopped"


@click.command(
    epilog=examples(
        "agiraph result my-agent",
        "agiraph result my-agent -o report.md",
        "agiraph result my-agent -o results/",
    )
)
@click.argument("agent")
@output_options
@run_option
@home_option
@json_option("one JSON object: agent, run, status, reason, failure_class, result, files ...")
@click.pass_context
def result(
    ctx: click.Context,
    agent: str,
    output: str | None,
    force: bool,
    run_id: str | None,
    home: Path,
    as_json: bool,
) -> None:
    """Print the final answer of AGENT's last run, or write it with everything that was delivered.

    A folder gets the answer as _output.md, the published files of each completed node in a folder
    of its name, and the files that the coordinator wrote. Exits 1 if the run has not ended, has no
    answer, or a file could not be written.
    """
    to = wanted_destination(output, may_replace=force)
    with connect_to_read(home) as client:
        from cli.run.outcome import answer_of

        found = client.agent(agent)
        run = run_of(client, found.id, run_id or str(found.run))
        # A coordinator that was stopped or cannot start has not recorded the end of its run.
        is_cut_off = run.status == RUNNING and found.status in ENDED_AGENT
        is_agents = run.is_current and (found.status == STOPPED or is_cut_off)
        status = found.status if is_agents else run.status
        if status == RUNNING:
            raise click.ClickException(
                f"{found.name} is still at work; `agiraph wait {found.id}` waits for its end"
            )
        answer = answer_of(client, found.id, run.id, run.result)
        files = deliverables(client, found.id, run.id)
        delivery = deliver(client, found.id, run.id, answer, to) if to is not None else None
    written = delivery.written if delivery is not None else []
    if as_json:
        facts = {"agent": found.id, "run": run.id, "status": status, "reason": run.reason}
        more = {"files": list(files.values()), "written": list(map(spelled, written))}
        ended = {"failure_class": run.failure_class, "incomplete": list(run.incomplete)}
        print_json(facts | ended | {"result": answer} | more)
    elif answer is not None and delivery is None:
        shown = printable(answer) if sys.stdout.isatty() else answer
        click.echo(shown.rstrip("\n"))
    for note in delivery.notes if delivery is not None else _hint(found.id, len(files)):
        remark(note)
    if answer is None:
        because = f": {run.reason}" if run.reason else ""
        click.echo(f"agiraph: {found.name} has no answer, it is {status}{because}", err=True)
    is_whole = delivery is None or not delivery.missing
    ctx.exit(DONE if answer is not None and is_whole else FAILED)


def _hint(agent: str, files: int) -> list[str]:
    if not files or not sys.stderr.isatty():
        return []
    noun = "file was" if files == 1 else "files were"
    return [f"{files} {noun} delivered, too: agiraph result {agent} -o DIR/"]

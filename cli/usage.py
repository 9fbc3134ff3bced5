"""`agiraph usage`: tokens and money by entity, node, model or day."""

from pathlib import Path
from typing import get_args

import click

from agiraph.turns import UsageBy
from cli.listing import Column, JsonObject, count, money, print_listing, to_rows
from cli.options import connect, examples, home_option, json_option, run_option

COLUMNS = (
    Column("RUN", "run", spare=2),
    Column("NAME", "name", wide=True),
    Column("CALLS", "calls", count, align="right"),
    Column("INPUT", "input_tokens", count, align="right"),
    Column("CACHED", "cache_read_tokens", count, align="right", spare=3),
    Column("OUTPUT", "output_tokens", count, align="right"),
    Column("COST", "cost_usd", money, align="right"),
)

ALL_RUNS = "*"


@click.command(
    epilog=examples(
        "agiraph usage",
        "agiraph usage --by day",
        "agiraph usage my-agent --by node",
        "agiraph usage my-agent --by model --all-runs --json",
    )
)
@click.argument("agent", required=False)
@click.option(
    "--by",
    type=click.Choice(get_args(UsageBy)),
    default="entity",
    show_default=True,
    help="What a row is of; a day is one of UTC.",
)
@run_option
@click.option("--all-runs", is_flag=True, help="All runs of AGENT, not its current one alone.")
@home_option
@json_option("a JSON array: key, name, run, calls, seconds, input_tokens, cost_usd and more")
def usage(
    agent: str | None, by: UsageBy, run_id: str | None, all_runs: bool, home: Path, as_json: bool
) -> None:
    """Tell what model calls took in tokens and money.

    With AGENT (an id or a name): its current run. Without: everything in this home.
    """
    if agent is None and (run_id or all_runs):
        raise click.UsageError("--run and --all-runs need an AGENT")
    if run_id and all_runs:
        raise click.UsageError("--all-runs are all of them: it does not go with --run")
    with connect(home) as client:
        told = client.usage(agent=agent, run=ALL_RUNS if all_runs else run_id, by=by)
    rows = [_row(row) for row in to_rows(told.rows)]
    if rows and not as_json:
        total = {"calls": sum(row["calls"] for row in rows)}
        rows.append(_row({"key": "in all", "usage": to_rows([told.total])[0], **total}))
    print_listing(rows, COLUMNS, as_json=as_json, empty="nothing was spent")


def _row(row: JsonObject) -> JsonObject:
    """Return a row with its counts beside its key; a call outside of nodes is its leader's."""
    facts = {**row, **row["usage"]}
    del facts["usage"]
    return facts | {"name": row.get("name") or row["key"] or "(no node)"}

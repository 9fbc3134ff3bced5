"""`agiraph usage`: tokens and money by entity, node, stage, model, day or trigger."""

from pathlib import Path
from typing import get_args

import click

from agiraph.core.money import BudgetState, Unit, shown, whose
from agiraph.core.turns import UsageGroup
from agiraph.http.api import UsageView
from cli.formats import format_count, format_money
from cli.listing import Column, JsonObject, print_json, print_listing, to_rows
from cli.options import connect, examples, home_option, json_option, run_option

COLUMNS = (
    Column("RUN", "run", spare=2),
    Column("NAME", "name", wide=True),
    Column("CALLS", "calls", format_count, align="right"),
    Column("INPUT", "input_tokens", format_count, align="right"),
    Column("CACHED", "cache_read_tokens", format_count, align="right", spare=3),
    Column("STORED", "cache_write_tokens", format_count, align="right", spare=4),
    Column("OUTPUT", "output_tokens", format_count, align="right"),
    Column("COST", "cost_usd", format_money, align="right"),
)

BUDGETS = (
    Column("BUDGET OF", "whose", wide=True),
    Column("LIMIT", "limit", align="right"),
    Column("SPENT", "spent", align="right"),
    Column("LEFT", "left", align="right"),
    Column("RAISED", "raises", format_count, align="right", spare=1),
)

ALL_RUNS = "*"


@click.command(
    epilog=examples(
        "agiraph usage",
        "agiraph usage --by day",
        "agiraph usage my-agent --by node",
        "agiraph usage my-agent --by stage",
        "agiraph usage my-agent --by model --all-runs --json",
        "agiraph usage my-agent --json --budgets",
    )
)
@click.argument("agent", required=False)
@click.option(
    "--by",
    type=click.Choice(get_args(UsageGroup)),
    default="entity",
    show_default=True,
    help="What each row is about; days are in UTC.",
)
@run_option
@click.option("--all-runs", is_flag=True, help="All runs of AGENT, not only the current one.")
@home_option
@json_option("a JSON array: key, name, run, calls, seconds, input_tokens, cost_usd and more")
@click.option("--budgets", is_flag=True, help="With --json: one object: rows, total, budgets.")
def usage(
    agent: str | None,
    by: UsageGroup,
    run_id: str | None,
    all_runs: bool,
    home: Path,
    as_json: bool,
    budgets: bool,
) -> None:
    """Show what model calls used in tokens and money, and what is left of the budgets.

    With AGENT (an id or a name): its current run. Without: everything in this home. INPUT counts
    all input tokens; of them, CACHED were read from a provider's cache and STORED written to it.
    """
    if budgets and not as_json:
        raise click.UsageError("--budgets needs --json: the table always shows them")
    if agent is None and (run_id or all_runs):
        raise click.UsageError("--run and --all-runs need an AGENT")
    if run_id and all_runs:
        raise click.UsageError("--run and --all-runs cannot be used together")
    with connect(home) as client:
        found = client.usage(agent=agent, run=ALL_RUNS if all_runs else run_id, by=by)
    rows = [_row(row) for row in to_rows(found.rows)]
    if rows and not as_json:
        total = {"calls": sum(row["calls"] for row in rows)}
        rows.append(_row({"key": "total", "usage": to_rows([found.total])[0], **total}))
    if as_json and budgets:
        print_json(_as_json(found))
        return
    print_listing(rows, COLUMNS, as_json=as_json, empty="nothing was spent")
    held = [row for state in found.budgets for row in _budget_rows(state)]
    if held and not as_json:
        click.echo("")
        print_listing(held, BUDGETS, as_json=False, empty="")


def _as_json(found: UsageView) -> JsonObject:
    rows = [_row(row) for row in to_rows(found.rows)]
    return {"rows": rows, "total": to_rows([found.total])[0], "budgets": to_rows(found.budgets)}


def _budget_rows(state: BudgetState) -> list[JsonObject]:
    """Return a row for each limit of a budget."""
    limits: list[tuple[Unit, float | None, float]] = [
        ("usd", state.usd, state.spent_usd),
        ("tokens", state.tokens, float(state.spent_tokens)),
    ]
    return [
        {
            "whose": whose(state),
            "limit": shown(limit, unit),
            "spent": shown(spent, unit),
            "left": shown(max(0.0, limit - spent), unit),
            "raises": state.raises,
        }
        for unit, limit, spent in limits
        if limit is not None
    ]


def _row(row: JsonObject) -> JsonObject:
    """Return a row with its counts beside its key."""
    facts = {**row, **row["usage"]}
    del facts["usage"]
    return facts | {"name": row.get("name") or row["key"] or "(no node)"}

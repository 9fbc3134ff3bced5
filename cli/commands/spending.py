"""`agiraph usage` and `agiraph budget`: spending, and the budgets of agents and triggers."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from agiraph.core.money import (
    BudgetState,
    NamedLimit,
    Period,
    Unit,
    mark_estimate,
    shown,
    whose,
)
from agiraph.core.turns import UsageGroup
from cli.api_command import api_command
from cli.console.plain_text import format_budget, limits_of, owner_of
from cli.options.shared import (
    AMOUNT,
    connect_to_read,
    examples,
    home_option,
    json_option,
    run_option,
    together,
)
from cli.output.formats import format_count, format_money, with_estimate
from cli.output.listing import Column, Done, JsonObject, Listing, Shown, print_json, to_rows

if TYPE_CHECKING:
    from agiraph.http.api import BudgetView
    from agiraph.http.client import Client

USAGE = (
    Column("RUN", "run", spare=2),
    Column("NAME", "name", wide=True),
    Column("CALLS", "calls", format_count, align="right"),
    Column("INPUT", "", with_estimate("input_tokens", format_count), align="right"),
    Column("CACHED", "cache_read_tokens", format_count, align="right", spare=3),
    Column("STORED", "cache_write_tokens", format_count, align="right", spare=4),
    Column("OUTPUT", "", with_estimate("output_tokens", format_count), align="right"),
    Column("COST", "", with_estimate("cost_usd", format_money), align="right"),
)
STATES = (
    Column("BUDGET OF", "whose", wide=True),
    Column("LIMIT", "limit", align="right"),
    Column("SPENT", "spent", align="right"),
    Column("LEFT", "left", align="right"),
    Column("RAISED", "raises", format_count, align="right", spare=1),
)
BUDGETS = (
    Column("BUDGET OF", "whose", wide=True),
    Column("PER", "per"),
    Column("IN", "unit"),
    Column("LIMIT", "limit", align="right"),
    Column("SPENT", "spent", align="right"),
    Column("LEFT", "left", align="right"),
    Column("SET BY", "set_by", spare=1),
)
ALL_RUNS = "*"
AMOUNTS = ("limit", "spent", "left")
_IN: dict[Unit, str] = {"usd": "dollars", "tokens": "tokens"}
_SHOW: dict[Unit, Callable[[float], str]] = {
    "usd": format_money,
    "tokens": lambda some: f"{some:,.0f}",
}
FIELDS = "scope, agent, key, name, period, usd, tokens, spent_usd, left_usd, is_own and more"


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
    help="The subject of each row; days are in UTC.",
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
    """Show the tokens and money that model calls used, and the rest of the budgets.

    With AGENT (an id or a name): its current run. Without: everything in this home. INPUT counts
    all input tokens; of them, CACHED were read from a provider's cache and STORED written to it.
    A ~ marks amounts that the service has not counted in full: a part is estimated.
    """
    if budgets and not as_json:
        raise click.UsageError("--budgets needs --json: the table always shows them")
    if agent is None and (run_id or all_runs):
        raise click.UsageError("--run and --all-runs need an AGENT")
    if run_id and all_runs:
        raise click.UsageError("--run and --all-runs cannot be used together")
    with connect_to_read(home) as client:
        found = client.usage(agent=agent, run=ALL_RUNS if all_runs else run_id, by=by)
    rows, total = [_usage_row(row) for row in to_rows(found.rows)], to_rows([found.total])[0]
    if budgets:
        print_json({"rows": rows, "total": total, "budgets": to_rows(found.budgets)})
        return
    calls = sum(row["calls"] for row in rows)
    summed = [*rows, _usage_row({"key": "total", "usage": total, "calls": calls})] if rows else []
    columns = USAGE if any(row["run"] for row in rows) else USAGE[1:]
    Listing(rows, columns, "nothing was spent", summed).print(as_json=as_json)
    held = [row for state in found.budgets for row in _state_rows(state)]
    if held and not as_json:
        click.echo("")
        Listing(held, STATES, "").print(as_json=False)


def _usage_row(row: JsonObject) -> JsonObject:
    """Return a row with its counts at the top level, and its name."""
    facts = {**row, **row["usage"]}
    del facts["usage"]
    return facts | {"name": row.get("name") or row["key"] or "(no node)"}


def _state_rows(state: BudgetState) -> list[JsonObject]:
    """Return a row for each limit of a budget."""
    limits: list[tuple[Unit, float | None, float]] = [
        ("usd", state.usd, state.spent_usd),
        ("tokens", state.tokens, float(state.spent_tokens)),
    ]
    return [
        {
            "whose": whose(state),
            "limit": shown(limit, unit),
            "spent": mark_estimate(shown(spent, unit), state.is_estimate),
            "left": mark_estimate(shown(max(0.0, limit - spent), unit), state.is_estimate),
            "raises": state.raises,
        }
        for unit, limit, spent in limits
        if limit is not None
    ]


# --- budgets -------------------------------------------------------------------------------------


@api_command(
    "agiraph budget",
    "agiraph budget my-agent",
    "agiraph budget my-agent 5",
    "agiraph budget my-agent 1 2m-tokens --per-day",
    "agiraph budget my-agent 0.50 --trigger mornings --per-day",
    "agiraph budget my-agent none",
    "agiraph budget my-agent --per-day --remove",
    json=f"a JSON array of budgets, one object if you set one: {FIELDS}",
)
@click.argument("agent", required=False)
@click.argument("amount", type=AMOUNT, nargs=-1)
@click.option("--per-day", is_flag=True, help="For each day (UTC) instead of in all.")
@click.option("--trigger", metavar="TRIGGER", help="The budget of this trigger's firings.")
@click.option(
    "--remove",
    is_flag=True,
    help="Remove the limit; the limit of the settings applies again, if there is one.",
)
def budget(
    client: "Client",
    agent: str | None,
    amount: tuple[NamedLimit, ...],
    per_day: bool,
    trigger: str | None,
    remove: bool,
) -> Shown:
    """Show or set the budgets of AGENT, its triggers and its run; without AGENT, show all.

    AMOUNT is a limit: 5 or $5 (US dollars), 500k-tokens, or both. A limit that you do not name
    stays as it is; none means no limit, even if the settings have one (none-usd, none-tokens: of
    one unit). Setting a budget discards earlier raises. Entities that wait for more budget continue
    if there is enough now. The budget of a run is raised by answering its question.
    """
    if agent is None and (remove or trigger or per_day):
        raise click.UsageError("AGENT is missing")
    if remove and amount:
        raise click.UsageError("--remove cannot be used with an AMOUNT (for no limit: none)")
    period: Period = "day" if per_day else "total"
    if agent is not None and remove:
        removed = client.remove_budget(agent, period=period, trigger=trigger)
        return Done(removed, format_budget(removed))
    if agent is not None and amount:
        usd, tokens = together(amount)
        made = client.set_budget(agent, usd=usd, tokens=tokens, period=period, trigger=trigger)
        return Done(made, format_budget(made))
    wanted = [one for one in client.budgets(agent) if _is_wanted(one, trigger, per_day=per_day)]
    rows = [row for one in wanted for row in _budget_rows(one)]
    none = f"{agent} has no such budget (agiraph budget {agent} 5 sets one)"
    return Listing(wanted, BUDGETS, "no budgets" if agent is None else none, rows)


def _is_wanted(one: "BudgetView", trigger: str | None, *, per_day: bool) -> bool:
    is_its = trigger is None or (one.scope == "trigger" and trigger in (one.key, one.name))
    return is_its and (not per_day or one.period == "day")


def _budget_rows(one: "BudgetView") -> list[JsonObject]:
    """Return one row for each limit of a budget, and one row if it has no limit."""
    common = {
        "whose": owner_of(one),
        "per": "day" if one.period == "day" else "all",
        "set_by": ("the run" if one.scope == "run" else "you") if one.is_own else "settings",
    }
    rows = []
    for unit, limit, *spent in limits_of(one):
        amounts = [mark_estimate(_SHOW[unit](some), one.is_estimate) for some in spent]
        row = dict(zip(AMOUNTS, [_SHOW[unit](limit), *amounts], strict=True))
        rows.append(common | {"unit": _IN[unit]} | row)
    spent_usd = mark_estimate(format_money(one.spent_usd), one.is_estimate)
    return rows or [common | {"unit": _IN["usd"], "limit": "none", "spent": spent_usd}]

"""`agiraph budget`: what agents and their triggers may spend, and setting it."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from agiraph.core.errors import InvalidInput
from agiraph.core.money import Period, Unit, parse_limit
from cli.console.plain_text import format_budget, limits_of, owner_of
from cli.formats import format_money
from cli.listing import Column, JsonObject, print_json, print_listing, to_rows
from cli.options import connect, examples, home_option, json_option

if TYPE_CHECKING:
    from agiraph.http.api import BudgetView

COLUMNS = (
    Column("BUDGET OF", "whose", wide=True),
    Column("PER", "per"),
    Column("IN", "unit"),
    Column("LIMIT", "limit", align="right"),
    Column("SPENT", "spent", align="right"),
    Column("LEFT", "left", align="right"),
    Column("SET BY", "set_by", spare=1),
)
AMOUNTS = ("limit", "spent", "left")
_IN: dict[Unit, str] = {"usd": "dollars", "tokens": "tokens"}
_SHOW: dict[Unit, Callable[[float], str]] = {
    "usd": format_money,
    "tokens": lambda some: f"{some:,.0f}",
}
FIELDS = "scope, agent, key, name, period, usd, tokens, spent_usd, left_usd, is_own and more"


class BudgetLimit(click.ParamType[Any]):
    """A limit: `5`, `2.50`, `40k`, `2m`, or `none`."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.name = "amount"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | Literal["none"]:
        """Return the amount, or refuse the value."""
        try:
            return parse_limit(str(value), self.unit)
        except InvalidInput as error:
            self.fail(str(error), param, ctx)


@click.command(
    epilog=examples(
        "agiraph budget",
        "agiraph budget my-agent",
        "agiraph budget my-agent --usd 5",
        "agiraph budget my-agent --usd 1 --tokens 2m --per-day",
        "agiraph budget my-agent --trigger mornings --usd 0.50 --per-day",
        "agiraph budget my-agent --usd none",
        "agiraph budget my-agent --per-day --remove",
    )
)
@click.argument("agent", required=False)
@click.option("--usd", type=BudgetLimit("usd"), help="The limit in US dollars, or none.")
@click.option(
    "--tokens", type=BudgetLimit("tokens"), help="The limit in tokens, such as 40k or 2m, or none."
)
@click.option("--per-day", is_flag=True, help="For each day (UTC) instead of in all.")
@click.option("--trigger", metavar="TRIGGER", help="For what the firings of this trigger lead to.")
@click.option(
    "--remove",
    is_flag=True,
    help="Remove the limit; that of the settings applies again, if there is one.",
)
@home_option
@json_option(f"a JSON array of budgets, one object if you set one: {FIELDS}")
def budget(
    agent: str | None,
    usd: float | Literal["none"] | None,
    tokens: float | Literal["none"] | None,
    per_day: bool,
    trigger: str | None,
    remove: bool,
    home: Path,
    as_json: bool,
) -> None:
    """Show or set what AGENT, its triggers and its run may spend; without AGENT, show all.

    A limit that you do not name stays as it is; `none` means no limit, even if the settings have
    one. Setting a budget discards earlier raises. Entities that wait for more budget continue if
    there is enough now. The budget of a run is raised by answering its question.
    """
    is_change = remove or usd is not None or tokens is not None
    if agent is None and (is_change or trigger or per_day):
        raise click.UsageError("AGENT is missing")
    if remove and (usd is not None or tokens is not None):
        raise click.UsageError(
            "--remove cannot be used with --usd or --tokens (for no limit: --usd none)"
        )
    period: Period = "day" if per_day else "total"
    with connect(home) as client:
        if not is_change or agent is None:
            found = client.budgets(agent)
        elif remove:
            found = [client.remove_budget(agent, period=period, trigger=trigger)]
        else:
            whole = tokens if tokens is None or tokens == "none" else int(tokens)
            found = [
                client.set_budget(agent, usd=usd, tokens=whole, period=period, trigger=trigger)
            ]
    if is_change:
        if as_json:
            print_json(to_rows(found)[0])
        else:
            click.echo(format_budget(found[0]))
        return
    wanted = [one for one in found if _is_wanted(one, trigger, per_day=per_day)]
    if as_json:
        print_json(to_rows(wanted))
        return
    rows = [row for one in wanted for row in _rows(one)]
    print_listing(rows, COLUMNS, as_json=False, empty=_nothing(agent))


def _is_wanted(one: "BudgetView", trigger: str | None, *, per_day: bool) -> bool:
    is_its = trigger is None or (one.scope == "trigger" and trigger in (one.key, one.name))
    return is_its and (not per_day or one.period == "day")


def _nothing(agent: str | None) -> str:
    if agent is None:
        return "no budgets"
    return f"{agent} has no such budget (agiraph budget {agent} --usd 5 sets one)"


def _rows(one: "BudgetView") -> list[JsonObject]:
    """Return a row for each limit of a budget, one for a budget without any."""
    common = {
        "whose": owner_of(one),
        "per": "day" if one.period == "day" else "all",
        "set_by": ("the run" if one.scope == "run" else "you") if one.is_own else "settings",
    }
    rows = [
        common | {"unit": _IN[unit]} | dict(zip(AMOUNTS, map(_SHOW[unit], amounts), strict=True))
        for unit, *amounts in limits_of(one)
    ]
    return rows or [
        common | {"unit": _IN["usd"], "limit": "none", "spent": format_money(one.spent_usd)}
    ]

"""Values formatted for people: times, sizes, counts, money. Short forms are for narrow columns."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from agiraph.core.money import mark_estimate
from agiraph.core.naming import short_name
from agiraph.core.turns import JsonObject, Usage
from cli.sanitize import one_line

GOAL_SHOWN = 300


def as_is(value: Any) -> str:
    """Return a value as text: None as '', a boolean as `yes` or `no`."""
    if isinstance(value, bool):
        return yes_or_no(value)
    return "" if value is None else str(value)


def format_goal(value: Any) -> str:
    """Return the beginning of a goal or task, for a row of a list: it may have any length."""
    return one_line(as_is(value), GOAL_SHOWN)


def yes_or_no(value: Any) -> str:
    """Return `yes` or `no`."""
    return "yes" if value else "no"


def format_time(value: Any) -> str:
    """Return an epoch time as local time, with the date if it is not today's."""
    if not isinstance(value, int | float) or not value:
        return ""
    when = datetime.fromtimestamp(value)
    form = "%H:%M:%S" if when.date() == datetime.now().date() else "%Y-%m-%d %H:%M:%S"
    return when.strftime(form)


def format_seconds(seconds: float) -> str:
    """Return a duration as text: `3.2 s`, `5 min 12 s`, `2 h 30 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def format_age(seconds: Any) -> str:
    """Return a duration in at most four characters: `7s`, `12m`, `3h`, `2d`."""
    if not isinstance(seconds, int | float):
        return ""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{max(0, int(seconds))}s"


def format_size(value: Any) -> str:
    """Return a number of bytes with a unit: `812 B`, `1.5 KB`; '' for no number."""
    if not isinstance(value, int | float):
        return ""
    amount = float(value)
    for unit in ("B", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if amount >= 10 or unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def format_short_size(amount: float) -> str:
    """Return bytes in at most six characters; '' for zero."""
    if amount <= 0:
        return ""
    for unit in ("B", "K", "M"):
        if amount < 1000:
            return f"{amount:.0f}{unit}"
        amount /= 1000
    return f"{amount:.1f}G"


def format_count(value: Any) -> str:
    """Return a number with thousands separators; '' for zero."""
    return f"{int(value):,}" if isinstance(value, int | float) and value else ""


def format_short_count(number: int) -> str:
    """Return a number in at most five characters: `812`, `12.3k`, `4.5M`."""
    if number < 1000:
        return str(number)
    if number < 100_000:
        return f"{number / 1000:.1f}k"
    return f"{number / 1000:.0f}k" if number < 1_000_000 else f"{number / 1e6:.1f}M"


def format_money(value: Any) -> str:
    """Return dollars; '' for an unknown price."""
    if not isinstance(value, int | float):
        return ""
    return f"${value:,.4f}" if 0 < abs(value) < 1 else f"${value:,.2f}"


def format_short_money(cost: float | None) -> str:
    """Return dollars, only the smallest with four digits; '' for an unknown price."""
    if cost is None:
        return ""
    return f"${cost:.4f}" if 0 < cost < 0.01 else f"${cost:,.2f}"


def with_estimate(key: str, show: Callable[[Any], str]) -> Callable[[Mapping[str, Any]], str]:
    """Return a function that shows an amount of a row, marked if it is an estimate."""
    return lambda row: mark_estimate(show(row.get(key)), row.get("is_estimate"))


def format_usage(usage: Usage) -> str:
    """Return tokens and, if the price is known, money."""
    amounts = [f"{usage.tokens:,} tokens", format_money(usage.cost_usd)]
    return " · ".join(mark_estimate(one, usage.is_estimate) for one in amounts if one)


def format_short_usage(sums: JsonObject, unit: str = "") -> str:
    """Return the sums of a usage (`Usage.sums`) in a few characters: `12.3k $0.12`."""
    amounts = [f"{format_short_count(sums['tokens'])}{unit}", format_short_money(sums["cost_usd"])]
    return " ".join(mark_estimate(one, sums["is_estimate"]) for one in amounts if one)


def spent_cells(tokens: int, cost: float | None, *, is_estimate: bool) -> tuple[str, str]:
    """Return tokens and money as two short texts, '' for zero."""
    shown = (format_short_count(tokens) if tokens else "", format_short_money(cost) if cost else "")
    return mark_estimate(shown[0], is_estimate), mark_estimate(shown[1], is_estimate)


def format_percent(value: Any) -> str:
    """Return a share of a processor, given in percent, as `12%`; '' for zero."""
    return f"{value:.0f}%" if isinstance(value, int | float) and value else ""


def state_label(value: Any) -> str:
    """Return the state of a process; the wait before its next start as two words."""
    return "backing off" if value == "backing_off" else as_is(value)


def entity_name(value: Any) -> str:
    """Return the short name of an address or id."""
    return short_name(str(value).rpartition("/")[2]) if value else ""


def shown_agent(role: JsonObject) -> str:
    """Return the agent of a team's role (a `RoleView`) as text for people."""
    agent = role["agent"] or role["model"] or "default"
    return f"{agent} (not {role['left_out']})" if role["left_out"] else str(agent)


def how_it_works(role: JsonObject) -> str:
    """Return how a team's role (a `RoleView`) works, as text for people."""
    if role["kind"] == "cli":
        return "as a CLI"
    return "text only" if role["advisory"] else "with tools"

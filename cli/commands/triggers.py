"""`agiraph triggers`: list, add, pause, resume, cancel and fire triggers."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

import click

from agiraph.core.errors import unknown
from agiraph.http.api import CreateTriggerRequest, JsonObject
from agiraph.http.errors import ApiError
from agiraph.triggers.records import MissedPolicy, TriggerType
from cli.api_command import api_command
from cli.options.shared import DURATION, budgets_option, examples, together
from cli.output.formats import as_is
from cli.output.listing import Column, Done, Listing, Shown, to_rows

if TYPE_CHECKING:
    from agiraph.core.money import NamedLimit
    from agiraph.http.client import Client

FIELDS = "id, name, type, config, action, status, next_due, last_fired_at, fired, skipped ..."
CURRENT = ("active", "paused")


def moment(value: Any) -> str:
    """Return an epoch time as local date and minute; within an hour of now to the second."""
    if not isinstance(value, int | float) or not value:
        return ""
    when = datetime.fromtimestamp(value)
    is_soon = abs(when.timestamp() - datetime.now().timestamp()) < 3600
    return when.strftime("%H:%M:%S" if is_soon else "%Y-%m-%d %H:%M")


def waits_for(row: JsonObject) -> str:
    """Return the condition of a trigger as text, such as `cron 0 9 * * MON (Europe/Berlin)`."""
    config = row["config"]
    match row["type"]:
        case "scheduled":
            return f"cron {config['cron']} ({config['time_zone']})"
        case "delayed":
            return f"in {config['delay_seconds']:g} s"
        case "at_time":
            return f"at {config['at']} ({config['time_zone']})"
        case "heartbeat":
            return f"every {config['interval_seconds']:g} s"
        case "on_event":
            wanted = ", ".join(f"{key}={value}" for key, value in config["filter"].items())
            return f"on {config['event_pattern']}" + (f" where {wanted}" if wanted else "")
        case _:
            return f"idle {config['idle_seconds']:g} s"


def does(action: JsonObject) -> str:
    """Return the action of a trigger as text."""
    said = ", ".join(as_is(value) for value in action["payload"].values())
    return said if action["type"] == "wake_agent" else f"{action['type']}: {said}"


COLUMNS = (
    Column("ID", "id"),
    Column("NAME", "name", spare=2),
    Column("WAITS FOR", "", waits_for),
    Column("STATUS", "status"),
    Column("NEXT DUE", "next_due", moment),
    Column("LAST FIRED", "last_fired_at", moment, spare=1),
    Column("FIRED", "fired", align="right", spare=3),
    Column("ACTION", "action", does, wide=True),
)


class AgentFirstGroup(click.Group):
    """`triggers AGENT [ACT ...]`: without an act it lists; options may be anywhere."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Return the words, with `list` inserted without an act. A usage error lists the acts."""
        if {"-h", "--help"} & set(args):
            act = next((word for word in args if word in self.commands), None)
            return super().parse_args(ctx, ["AGENT", act, "--help"] if act else ["--help"])
        if ctx.resilient_parsing:  # a shell completes the line
            return super().parse_args(ctx, args)
        return super().parse_args(ctx, self._with_act(ctx, args))

    def _with_act(self, ctx: click.Context, args: list[str]) -> list[str]:
        places = _positionals(args)
        if not places:
            return args
        agent = args[places[0]]
        rest = args[: places[0]] + args[places[0] + 1 :]
        if len(places) == 1:
            return [agent, "list", *rest]
        act = args[places[1]]
        if act not in self.commands:
            raise click.UsageError(str(unknown("act", act, self.commands)), ctx)
        rest.remove(act)
        return [agent, act, *rest]


def _positionals(args: list[str]) -> list[int]:
    """Return the indexes of the first two arguments that are no options and no option values."""
    found: list[int] = []
    place = 0
    while place < len(args) and len(found) < 2:
        if args[place] in ("--home", "--url", "--token", "--ca"):
            place += 1
        elif not args[place].startswith("-"):
            found.append(place)
        place += 1
    return found


@click.group(
    cls=AgentFirstGroup,
    epilog=examples(
        "agiraph triggers my-agent",
        "agiraph triggers my-agent add 'Look for new files' --every 30m",
        "agiraph triggers my-agent add Report --cron '0 9 * * MON' --zone UTC",
        "agiraph triggers my-agent pause t-3fa9c1",
        "agiraph triggers my-agent cancel t-3fa9c1",
    ),
)
@click.argument("agent")
def triggers(agent: str) -> None:
    """List or change the triggers of AGENT; without an act: list."""


def _agent() -> str:
    """Return the agent that the command line names."""
    parent = click.get_current_context().parent
    assert parent is not None
    return str(parent.params["agent"])


@api_command(
    "agiraph triggers my-agent list --all",
    json=f"a JSON array: {FIELDS}",
    name="list",
    group=triggers,
)
@click.option("-a", "--all", "is_all", is_flag=True, help="Include triggers that have ended.")
def list_(client: "Client", is_all: bool) -> Shown:
    """List the triggers: condition, next time, and action of each."""
    found = [one for one in client.triggers(_agent()) if is_all or one.status in CURRENT]
    return Listing(found, COLUMNS, f"{_agent()} has no triggers")


@api_command(
    "agiraph triggers my-agent add 'Check the build' --in 30m",
    "agiraph triggers my-agent add Report --cron '0 9 * * MON' --zone UTC",
    "agiraph triggers my-agent add 'Anything new?' --every 30m --budget 2",
    "agiraph triggers my-agent add 'See why' --on node.failed --where name=build",
    "agiraph triggers my-agent add 'Done yet?' --idle 1h --say human",
    "agiraph triggers my-agent add --cron '0 3 * * *' --callback backup",
    json="one JSON object: the trigger",
    group=triggers,
)
@click.argument("task", default="")
@click.option("--cron", help="Repeatedly, by a cron expression of five fields.")
@click.option("--in", "delay", type=DURATION, help="Once, after this duration.")
@click.option("--at", help="Once, at this time, such as 2026-02-12T09:00.")
@click.option("--every", type=DURATION, help="At this interval; skipped when nothing happened.")
@click.option("--on", "event", help="Whenever this event happens, such as node.failed or node.*")
@click.option(
    "--where",
    multiple=True,
    metavar="KEY=VALUE",
    help="With --on: only events with this value; repeatable.",
)
@click.option("--idle", type=DURATION, help="When nothing has happened for this duration.")
@click.option("--zone", help="The IANA time zone of --cron and --at [default: from the settings].")
@click.option(
    "--missed",
    type=click.Choice(get_args(MissedPolicy)),
    help="The treatment of missed firings.",
)
@click.option("--say", metavar="TO", help="Send TASK to this entity instead of waking the agent.")
@click.option("--node", help="Run this node again instead.")
@click.option("--callback", help="Run this callback of the settings instead.")
@click.option(
    "-n", "--name", default="", help="The name of the trigger [default: the first words of TASK]."
)
@budgets_option("The budget of all its firings: 2 or $2 (US dollars), 500k-tokens; repeatable.")
def add(
    client: "Client",
    task: str,
    cron: str | None,
    delay: float | None,
    at: str | None,
    every: float | None,
    event: str | None,
    where: tuple[str, ...],
    idle: float | None,
    zone: str | None,
    missed: str | None,
    say: str | None,
    node: str | None,
    callback: str | None,
    name: str,
    budgets: tuple["NamedLimit", ...],
) -> Shown:
    """Add a trigger that wakes AGENT with TASK.

    One of --cron, --in, --at, --every, --on and --idle says when. `agiraph budget` sets its budget
    for each day.
    """
    kinds: dict[TriggerType, JsonObject | None] = {
        "scheduled": _given(cron=cron),
        "delayed": _given(delay_seconds=delay),
        "at_time": _given(at=at),
        "heartbeat": _given(interval_seconds=every),
        "on_event": _given(event_pattern=event),
        "on_idle": _given(idle_seconds=idle),
    }
    wanted = [(type_, config) for type_, config in kinds.items() if config is not None]
    if len(wanted) != 1:
        raise click.UsageError("give one of --cron, --in, --at, --every, --on and --idle")
    type_, config = wanted[0]
    config |= (_given(time_zone=zone) or {}) | (_given(missed=missed) or {})
    if where:
        config["filter"] = dict(_pair(one) for one in where)
    action = _action(task, say, node, callback)
    trigger = CreateTriggerRequest(type=type_, config=config, action=action, name=name)
    made = client.add_trigger(_agent(), trigger)
    if budgets:
        _bound(client, made.id, budgets)
    row = to_rows([made])[0]
    due = f", next due {moment(row['next_due'])}" if row.get("next_due") else ""
    return Done(made, f"{made.id} ({made.name}): {waits_for(row)}{due}")


def _bound(client: "Client", trigger: str, budgets: "Sequence[NamedLimit]") -> None:
    """Set the budget of a new trigger; if that is refused, remove the trigger."""
    usd, tokens = together(budgets)
    try:
        client.set_budget(_agent(), usd=usd, tokens=tokens, trigger=trigger)
    except ApiError:
        client.cancel_trigger(_agent(), trigger)
        raise


def _given(**value: Any) -> JsonObject | None:
    """Return {name: value} for the keyword argument, None if the value is None."""
    return None if None in value.values() else value


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise click.UsageError(f"--where '{text}' is not KEY=VALUE")
    return key, value


def _action(task: str, say: str | None, node: str | None, callback: str | None) -> JsonObject:
    others = [one for one in (say, node, callback) if one is not None]
    if len(others) > 1:
        raise click.UsageError("--say, --node and --callback cannot be used together")
    if node is not None:
        return {"type": "run_node", "payload": {"node_id": node}}
    if callback is not None:
        return {"type": "run_callback", "payload": {"callback": callback}}
    if not task.strip():
        raise click.UsageError("TASK is missing")
    if say is not None:
        return {"type": "send_message", "payload": {"to": say, "content": task}}
    return {"type": "wake_agent", "payload": {"task": task}}


def _act(act: Literal["pause", "resume", "cancel", "fire"], what: str) -> None:
    """Add the command of one act; `what` is the help text."""

    @api_command(
        f"agiraph triggers my-agent {act} t-3fa9c1",
        json="one JSON object: the trigger",
        name=act,
        group=triggers,
        help=what,
    )
    @click.argument("trigger")
    def command(client: "Client", trigger: str) -> Shown:
        if act == "cancel":
            state = client.cancel_trigger(_agent(), trigger)
        else:
            state = client.act_on_trigger(_agent(), trigger, act)
        effect = "fired" if act == "fire" else state.status
        return Done(state, f"{state.id} ({state.name}): {effect}")


_act("pause", "Pause a TRIGGER; firings that it misses meanwhile are not made up for.")
_act("resume", "Resume a paused TRIGGER, counted from now.")
_act("cancel", "Cancel a TRIGGER permanently, by its id or name.")
_act("fire", "Fire a TRIGGER now; its next due time does not change.")

"""Other agents in the home of a run: agents at work, and unfinished agents of ended commands."""

import contextlib
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agiraph.core.errors import AgiraphError, InvalidInput, listed
from agiraph.core.money import mark_estimate
from agiraph.storage.run_lease import RunLease, left_agents
from cli.options.remote import is_elsewhere
from cli.output.formats import format_age, format_money
from cli.run.target import RunTarget, home_option_of

if TYPE_CHECKING:
    from agiraph.http.api import AgentView

SHOWN: Final = 3
AT_WORK: Final = ("working", "waiting_for_human", "standing_still")


def show_neighbours(target: RunTarget, agent: "AgentView") -> None:
    """Show the other agents that work on this supervisor, and the unfinished ones."""
    with contextlib.suppress(AgiraphError):  # the gateway restarts: the run itself continues
        others = [other for other in target.client.agents() if other.id != agent.id]
        names = [other.name for other in others if _works(other)]
        if names:
            target.screen.note(f"also at work in this home: {_listed(names)}")
        unfinished = _unfinished(others, target.home)
        for other in unfinished[:SHOWN]:
            target.screen.note(f"unfinished: {_described(target, other)}")
        if len(unfinished) > SHOWN:
            more = f"{len(unfinished) - SHOWN} more: agiraph agents --status stopped"
            target.screen.note(f"unfinished: {more}{home_option_of(target.home)}")


def resume_unfinished(target: RunTarget) -> None:
    """Resume the unfinished agents of ended commands, and attend them until we end."""
    for agent in _unfinished(target.client.agents(), target.home):
        lease = RunLease(target.home, agent.id)
        target.resumed.append(lease)
        lease.begin()
        target.client.resume(agent.id)
        target.screen.note(f"resumed: {agent.name}")


def only_unfinished(target: RunTarget) -> str:
    """Return the id of the only agent that stopped unfinished because its command had ended.

    Raises InvalidInput if there is no such agent, or several.
    """
    found = _unfinished(target.client.agents(), target.home)
    if len(found) == 1:
        return found[0].id
    names = listed([agent.name for agent in found])
    what = f"several agents are unfinished: name one by --agent ({names})"
    raise InvalidInput(what if found else "no agent is unfinished; begin a run with a GOAL")


def _works(agent: "AgentView") -> bool:
    """Whether an agent works now, or has a next cycle."""
    return agent.status in AT_WORK or (agent.status == "idle" and agent.next_cycle_at is not None)


def _unfinished(agents: "list[AgentView]", home: Path) -> "list[AgentView]":
    stopped = [agent for agent in agents if agent.status == "stopped" and not is_elsewhere()]
    left = left_agents(home) if stopped else []
    return [agent for agent in stopped if agent.id in left]


def _described(target: RunTarget, agent: "AgentView") -> str:
    spent = target.client.usage(agent=agent.id).total
    cost = f"{spent.tokens:,} tokens" if spent.cost_usd is None else format_money(spent.cost_usd)
    cost = mark_estimate(cost, spent.is_estimate)
    ago = format_age(time.time() - agent.updated_at)
    name, home = shlex.quote(agent.name), home_option_of(target.home)
    resume = f"agiraph run --resume --agent {name}{home}"  # `agiraph resume` needs a supervisor
    return f"{agent.name} (spent {cost}, {ago} ago): {resume}"


def _listed(names: list[str]) -> str:
    shown = listed(names[:SHOWN], len(names))
    return f"{shown} (agiraph agents)" if len(names) > SHOWN else shown

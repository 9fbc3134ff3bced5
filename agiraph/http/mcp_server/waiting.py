"""Waits for the end of a run, a question or an answer, for a bounded time, with progress.

It polls with short calls, so a restart of the gateway or the loss of a client does no harm.
"""

import asyncio
from collections.abc import Awaitable, Callable

from agiraph.http.api import ConversationMessageView, RoleTeamRunView
from agiraph.http.client import LATEST, AsyncClient
from agiraph.http.mcp_server.results import AgentStateResult, state_of

POLL_SECONDS = 0.25
LONGEST_POLL_SECONDS = 2.0
MOST_SECONDS = 3600.0
FROM_HUMAN = "human"

Report = Callable[[float, float | None, str | None], Awaitable[None]]


async def state(client: AsyncClient, agent: str) -> AgentStateResult:
    """Return the state of an agent, with counts of its nodes and with its open questions."""
    summary = await client.agent(agent)
    board = await client.board(summary.id)
    asked = [q for q in await client.questions(status="open") if q.agent == summary.id]
    return state_of(summary, board.nodes, asked)


async def until_news(
    client: AsyncClient, agent: str, seconds: float, report: Report
) -> AgentStateResult:
    """Return the state of an agent once its run is over or it asks a question.

    Returns after `seconds` at the latest; `report` receives the progress.
    """
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + min(max(0.0, seconds), MOST_SECONDS)
    pause, reported = POLL_SECONDS, (-1, -1)
    while True:
        seen = await state(client, agent)
        if (counted := (seen.nodes_ended, seen.nodes)) != reported:
            reported, pause = counted, POLL_SECONDS
            words = f"{seen.status}: {seen.nodes_ended} of {seen.nodes} nodes have ended"
            await report(seen.nodes_ended, seen.nodes or None, words)
        if seen.is_over or seen.questions or loop.time() >= ends_at:
            return seen
        await asyncio.sleep(min(pause, max(0.0, ends_at - loop.time())))
        pause = min(2 * pause, LONGEST_POLL_SECONDS)


async def until_roles_ended(
    client: AsyncClient, agent: str, seconds: float, report: Report
) -> RoleTeamRunView:
    """Return the turns of a team once its run has ended, or after `seconds`; `report` each turn."""
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + min(max(0.0, seconds), MOST_SECONDS)
    pause, reported = POLL_SECONDS, 0
    while True:
        seen = await client.role_turns(agent)
        for turn in seen.turns[reported:]:
            words = f"{turn.from_role} to {turn.to_role}: {turn.message}"
            await report(turn.turn, seen.max_turns, words)
            pause = POLL_SECONDS
        reported = len(seen.turns)
        if seen.status != "running" or loop.time() >= ends_at:
            return seen
        await asyncio.sleep(min(pause, max(0.0, ends_at - loop.time())))
        pause = min(2 * pause, LONGEST_POLL_SECONDS)


async def last_said(client: AsyncClient, agent: str) -> int:
    """Return the cursor of the last message of an agent's conversation, 0 if there is none."""
    page = await client.conversation(agent, before=LATEST, limit=1)
    return page.messages[-1].seq if page.messages else 0


async def reply_to(
    client: AsyncClient, agent: str, message: str, after: int, seconds: float
) -> ConversationMessageView | None:
    """Return the first message that answers `message`, None if none comes within `seconds`."""
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + min(max(0.0, seconds), MOST_SECONDS)
    while True:
        page = await client.conversation(agent, after=after, limit=100)
        for said in page.messages:
            if said.in_reply_to == message and said.sender != FROM_HUMAN:
                return said
        after = page.messages[-1].seq if page.messages else after
        if loop.time() >= ends_at:
            return None
        await asyncio.sleep(POLL_SECONDS)

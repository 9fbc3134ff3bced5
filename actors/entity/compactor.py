"""Compactor: keeps an entity's conversation within its model's window.

`agiraph.agent.context_window` decides on the next step, `compaction` on the contents of the new
conversation. A crash at any point loses nothing: the order to save things and the new conversation
are each one record of the entity's journal, and the old conversation stays in the journal before
them. The id of the request for the summary is derived from the position in the conversation, so it
is not paid for twice; without a summary the new conversation contains only the facts that need no
model.
"""

from collections.abc import Callable
from typing import Literal

from actors.entity.context import EntityContext
from actors.entity.model_client import BrokerModelClient
from actors.runtime.ask_again import ask_for
from agiraph.agent import event_replay
from agiraph.agent.compaction import SMALLEST_BUDGET, CompactionContext, shorten, tokens_of
from agiraph.agent.context_window import (
    CountedTurns,
    WindowUsage,
    decide,
    estimate_fixed,
    estimate_turns,
    fill_of,
    room_for_turns,
    scale_of,
    window_of,
)
from agiraph.agent.loop import TOO_LONG, PartialAnswer
from agiraph.agent.prompts import render
from agiraph.agent.records import ConversationCompacted, MemoryFlushStarted
from agiraph.core.errors import ModelFailure
from agiraph.core.ids import BROKER
from agiraph.core.turns import ModelRequest, Usage, UserTurn
from agiraph.messages.model import CountTokens, TokensCounted
from agiraph.tools.toolbox import Toolbox

SUMMARY_TOKENS = 4096
BELOW_REFUSED = 0.85
SMALLEST_ROOM = 2 * SMALLEST_BUDGET
"""A conversation needs at least this much room below its share of the window."""
SAVING_TOOLS = ("memory_write", "write_file")


class Compactor:
    """Shortens one entity's conversation when it fills the model's window.

    `request` returns the next request to the model, `compaction_context` the entity's task and
    files for a new conversation.
    """

    def __init__(
        self,
        context: EntityContext,
        model_client: BrokerModelClient,
        toolbox: Toolbox,
        request: Callable[[], ModelRequest],
        compaction_context: Callable[[], CompactionContext],
    ) -> None:
        self._context = context
        self._model_client = model_client
        self._models = context.runtime.config.models
        self._request = request
        self._compaction_context = compaction_context
        self._saving = next((name for name in SAVING_TOOLS if name in toolbox.shown), None)
        self._fixed: int | None = None
        self._counted: int | None = None
        self._was_counted = False
        self._counted_turns = CountedTurns()
        self._is_worker = "publish" in toolbox.names

    def prompt_changed(self) -> None:
        """Discard the estimates of system prompt and tools, because they have changed."""
        self._fixed = self._counted = None
        self._was_counted = False

    def is_full(self) -> bool:
        """Whether the conversation fills more of the window than its share."""
        fill = self._fill()
        return fill is not None and fill.used >= self._models.compact_at * fill.window

    async def make_room(self, *, was_refused: bool) -> bool:
        """Take the next step toward a shorter conversation; return whether a step was due."""
        await self._count_small_window()
        fill = self._fill()
        if was_refused:
            used = self._fill_of(0)
            learned = as_refused(fill, used, self._models.compact_at)
            await self._compact(learned, "refused")
            return True
        if fill is None:
            return False
        step = decide(
            self._context.transcript,
            fill,
            share=self._models.compact_at,
            can_flush=self._saving is not None,
        )
        if step == "flush":
            text = render("flush", tools=f"`{self._saving}`", is_worker=self._is_worker)
            record = MemoryFlushStarted(content=text, ts=self._context.now())
            self._context.conversation.append(record)
        elif step == "compact":
            await self._compact(fill, "full")
        return step is not None

    async def _count_small_window(self) -> None:
        """Count system prompt and tools with a small model's own tokenizer, before its first call.

        Reading them may take such a model a minute. Raises ModelFailure if they leave no room for a
        conversation. Without a tokenizer the model's first answer contains the count.
        """
        context = self._context
        has_count = self._was_counted or context.transcript.window.tokens
        if has_count or not context.limits.is_small:
            return
        self._was_counted = True
        request = self._request().model_copy(update={"turns": ()})
        answer = await ask_for(context.runtime, BROKER, CountTokens(request=request), TokensCounted)
        if answer.tokens is None:
            return
        self._counted = answer.tokens
        fill = WindowUsage(answer.tokens, answer.tokens, context.limits.window)
        if room_for_turns(fill, share=self._models.compact_at) < SMALLEST_BUDGET:
            raise ModelFailure(TOO_LONG, _too_small(request, fill))

    def _fill(self) -> WindowUsage | None:
        """Return the usage of the window; None if the window's size is not known."""
        window = window_of(self._context.transcript, self._models.context_tokens)
        if window is None and self._counted is not None:
            window = self._context.limits.window
        if window is None:
            return None
        return self._fill_of(window)

    def _fill_of(self, window: int) -> WindowUsage:
        transcript, fixed = self._context.transcript, self._fixed_tokens()
        estimate = self._counted_turns.estimate(transcript, fixed)
        return fill_of(transcript, fixed, window, counted=self._counted, estimate=estimate)

    def _fixed_tokens(self) -> int:
        """Return the estimated tokens of system prompt and tools, which do not change."""
        if self._fixed is None:
            request = self._request()
            self._fixed = estimate_fixed(request.system, request.tools)
        return self._fixed

    async def _compact(self, fill: WindowUsage, cause: Literal["full", "refused"]) -> None:
        transcript, request = self._context.transcript, self._request()
        self._context.show("busy", "compacting")
        scale = scale_of(transcript, self._fixed_tokens())
        budget = int(room_for_turns(fill, share=self._models.compact_at) / scale)
        if cause == "refused":
            turns = estimate_turns(transcript.turns)
            budget = min(budget, max(turns // 2, min(SMALLEST_BUDGET, turns - 1)))
        if budget < SMALLEST_BUDGET:
            raise ModelFailure(TOO_LONG, _too_small(request, fill))
        summary, usage = "", Usage()
        if cause == "full":
            summary, usage = await self._summary(request)
        shortened = shorten(
            transcript,
            self._compaction_context(),
            intro=render("compacted"),
            summary=summary,
            budget=budget,
        )
        compacted = ConversationCompacted(
            turns=shortened.turns,
            summary=summary,
            digest=shortened.digest,
            cause=cause,
            tokens_before=fill.used,
            tokens_after=fill.fixed + round(tokens_of(shortened) * scale),
            window=fill.window if cause == "refused" else None,
            scale=scale,
            usage=usage,
            ts=self._context.now(),
        )
        turns_before = len(transcript.turns)
        self._context.conversation.append(compacted)
        more = {"window": fill.window, "turns_before": turns_before}
        self._context.report(*event_replay.compacted(compacted, transcript.place, more).report)

    async def _summary(self, request: ModelRequest) -> tuple[str, Usage]:
        """Return the model's summary and its usage; "" if the model cannot give a summary."""
        asked = request.model_copy(
            update={
                "turns": (*request.turns, UserTurn(content=render("summarize"))),
                "max_tokens": min(request.max_tokens, SUMMARY_TOKENS),
            }
        )
        try:
            response = await self._model_client.think(asked, PartialAnswer(), about="summarize")
        except ModelFailure as failure:
            self._context.runtime.log.warning("no summary", kind=failure.kind, reason=str(failure))
            return "", Usage()
        return (response.text or "").strip(), response.usage


def as_refused(fill: WindowUsage | None, used: WindowUsage, share: float) -> WindowUsage:
    """Return the usage with a smaller window, learned from a request that the service refused.

    `share` of the new window is below the refused size by the factor BELOW_REFUSED.

    System prompt and tools cannot shrink, so at most half of the rest is removed at once, and the
    minimum that a conversation needs is kept.
    """
    turns = used.used - used.fixed
    least = used.fixed + max(turns // 2, min(SMALLEST_ROOM, turns - 1))
    learned = int(max(BELOW_REFUSED * used.used, least) / share)
    return WindowUsage(used.used, used.fixed, min(fill.window, learned) if fill else learned)


def _too_small(request: ModelRequest, fill: WindowUsage) -> str:
    return (
        f"{request.model}: its window of {fill.window:,} tokens is too small: system prompt and "
        f"tools alone take about {fill.fixed:,} (possible: another model, fewer tools, "
        "models.context_tokens if the window is larger than that)"
    )

"""Cycles: how a coordinator in infinite mode ends a cycle, sleeps, and begins the next cycle.

A cycle ends with the tool `end_cycle`: its notes go into the day's log in `memory/`, the board
records that the run is asleep, and the scheduler receives a trigger whose id is derived from that
call. The coordinator is parked until the trigger fires. The next cycle begins with a turn that
contains the goal, the cycle's number and the last notes.

The id of each step follows from the step before, so after a crash between two steps the same steps
are repeated, and each has its effect once.
"""

from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext
from actors.coordinator.runs.start import maintenance_turn
from agiraph.agent.prompts import render
from agiraph.board import commands as c
from agiraph.board.board import RunFacts
from agiraph.core.clock import LEAST_SECONDS, iso, seconds_of
from agiraph.core.errors import IllegalTransition, InvalidInput, ModelFailure
from agiraph.core.ids import CLOCK, COORDINATOR_NAME
from agiraph.core.turns import JsonObject, ToolTurn
from agiraph.llm.base import RETRYABLE
from agiraph.messages.trigger import CreateTrigger, TriggerFired
from agiraph.tools.coordinator import end_cycle
from agiraph.triggers.records import trigger_id

NOTES_KEPT = 4000
BROKEN_OFF = "broken-off."


class Cycles:
    """The cycles of one run; a finite run has none."""

    def __init__(self, context: CoordinatorContext, board_service: BoardService) -> None:
        self._context = context
        self._runtime = context.runtime
        self._board_service = board_service

    @property
    def is_infinite(self) -> bool:
        run = self._board_service.board.run
        return run is not None and run.mode == "infinite" and run.status == "running"

    @property
    def is_asleep(self) -> bool:
        run = self._board_service.board.run
        return run is not None and run.status == "running" and run.is_asleep

    @property
    def may_not_think(self) -> bool:
        """Whether no model call is needed: the model's last call, or its failure, ended a cycle."""
        run = self._board_service.board.run
        place = self._context.transcript.place
        if self.is_asleep and run and run.cycle_cause.endswith(f"{BROKEN_OFF}{place}"):
            return True
        for turn in reversed(self._context.transcript.turns):
            if not isinstance(turn, ToolTurn):
                return False
            if turn.name == end_cycle.name and not turn.is_error:
                return True
        return False

    @property
    def turns_used(self) -> int:
        """The model turns of this cycle, or of the whole run if it is finite."""
        run = self._board_service.board.run
        before = run.cycle_turns if run is not None else 0
        return self._context.transcript.progress.model_turns - before

    @property
    def description(self) -> str:
        """The sleep of the run in words; empty while it is awake."""
        run = self._board_service.board.run
        if run is None or not self.is_asleep:
            return ""
        return f"cycle {run.cycle} done, the next at {iso(run.next_at or 0.0)}"

    # --- the end of a cycle ----------------------------------------------------------------------

    async def end(self, call_id: str, notes: str, next_in: str | None) -> JsonObject:
        """Store the cycle's notes, set the trigger of the next cycle, put the run to sleep.

        Returns {"cycle", "next_cycle_at"}.
        """
        run = self._run()
        cause = self._context.cause(call_id)
        if run.is_asleep and run.cycle_cause != cause:
            raise IllegalTransition(f"cycle {run.cycle} has ended already; the next one is set")
        if not notes.strip():
            raise InvalidInput("notes is empty: give the information for the next cycle")
        seconds = self._seconds(next_in)
        now = self._context.now()
        self._context.files.log_day(f"Run {run.id}, cycle {run.cycle}", notes, now)
        turns = self._context.transcript.progress.model_turns
        self._board_service.execute(c.EndCycle(cause, notes[:NOTES_KEPT], now + seconds, turns))
        slept = self._run()
        await self._set_alarm(slept, seconds)
        return {"cycle": slept.cycle, "next_cycle_at": iso(slept.next_at or now)}

    def _seconds(self, next_in: str | None) -> float:
        if next_in is not None:
            return seconds_of(next_in, "next_in")
        named = self._context.args.agent.cycle_seconds
        return named or self._runtime.config.run.cycle_seconds

    async def end_silent(self, text: str | None) -> None:
        """End a cycle that the model has not ended itself even after a reminder."""
        key = f"silent.{self._context.transcript.place}"
        await self.end(key, (text or "").strip() or "(nothing was noted)", None)

    async def outlive(self, failure: ModelFailure, reason: str) -> bool:
        """Whether the run continues with the next cycle although its model cannot be called now."""
        if not self.is_infinite or failure.kind not in RETRYABLE:
            return False
        if not self.is_asleep:
            key = f"{BROKEN_OFF}{self._context.transcript.place}"
            await self.end(key, f"This cycle broke off: {reason}", None)
        return True

    async def set_alarm_again(self) -> None:
        """Create the trigger of the next cycle again: a crash may have prevented that before."""
        run = self._board_service.board.run
        if run is not None and self.is_asleep:
            left = (run.next_at or 0.0) - self._context.now()
            await self._set_alarm(run, max(left, LEAST_SECONDS))

    async def _set_alarm(self, run: RunFacts, seconds: float) -> None:
        body = CreateTrigger(
            agent=self._context.agent,
            type="delayed",
            config={"delay_seconds": seconds},
            action=f"begin cycle {run.cycle + 1}",
            name=f"cycle {run.cycle + 1}",
            created_by=COORDINATOR_NAME,
        )
        await self._runtime.send(CLOCK, body, id=self._alarm_message(run.cycle_cause))

    def _alarm_message(self, cause: str) -> bytes:
        return self._context.message_id(f"cycle.{cause}")

    # --- the next one ----------------------------------------------------------------------------

    def wake(self, fired: TriggerFired) -> str | None:
        """Begin the next cycle if `fired` is its trigger; return the turn that begins the cycle.

        Returns None for another trigger, and '' if the run has ended meanwhile.
        """
        run = self._board_service.board.run
        if run is None or not run.cycle_cause:
            return None
        if fired.trigger_id != trigger_id(self._alarm_message(run.cycle_cause)):
            return None
        if run.status != "running":
            return ""
        if run.is_asleep:
            self._board_service.execute(c.StartCycle(run.cycle_cause))
        return self._turn(self._run())

    def _turn(self, run: RunFacts) -> str:
        turn = render(
            "cycle",
            cycle=run.cycle,
            goal=run.goal,
            notes=run.notes.strip(),
            now=iso(self._context.now()),
        )
        return f"{turn}\n\n{maintenance_turn(self._context, run.id, run.cycle)}".rstrip()

    def _run(self) -> RunFacts:
        run = self._board_service.board.run
        if run is None or run.mode != "infinite":
            raise IllegalTransition("this run is finite: call `finish` when its goal is reached")
        if run.status != "running":
            raise IllegalTransition(f"the run has ended: it is {run.status}")
        return run

"""Cycles: how a coordinator in infinite mode works, notes what it did, sleeps, and wakes again.

A cycle ends with the tool `end_cycle`: its notes go into the day's log in `memory/`, the board
notes that the run is asleep, and the clock is asked for a wake-up call whose id follows from that
very call. Until then the coordinator is parked. The wake-up begins the next cycle with a turn that
tells the goal, the cycle's number and the last notes.

Each step carries an id that follows from the one before, so that a crash between any two of them
leads to the same steps again and to none of them twice.
"""

from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext
from actors.coordinator.run_start import upkeep_turn
from agiraph.agent.prompts import render
from agiraph.board import commands as c
from agiraph.board.board import RunFacts
from agiraph.core.clock import iso, iso_date
from agiraph.core.errors import IllegalTransition, InvalidInput, ModelFailure
from agiraph.core.ids import CLOCK, COORDINATOR_NAME
from agiraph.core.turns import JsonObject, ToolTurn
from agiraph.llm.base import RETRYABLE
from agiraph.memory.loading import daily_logs
from agiraph.messages import CreateTrigger, TriggerFired
from agiraph.storage.files import read_shown, replace_file
from agiraph.tools.cycle import END_CYCLE
from agiraph.triggers.parsing import LEAST_SECONDS, seconds_of
from agiraph.triggers.records import trigger_id

NOTES_KEPT = 4000
BROKEN_OFF = "broken-off."


class Cycles:
    """The cycles of one run. In a finite run there is nothing to them."""

    def __init__(self, context: CoordinatorContext, board_service: BoardService) -> None:
        self._context = context
        self._runtime = context.runtime
        self._board_service = board_service

    @property
    def is_infinite(self) -> bool:
        """Whether the run goes on until it is stopped."""
        run = self._board_service.board.run
        return run is not None and run.mode == "infinite" and run.status == "running"

    @property
    def is_asleep(self) -> bool:
        """Whether the run waits for its next cycle."""
        run = self._board_service.board.run
        return run is not None and run.status == "running" and run.is_asleep

    @property
    def may_not_think(self) -> bool:
        """Whether the mind has nothing to answer: all it did last was to end a cycle, or it could
        not be asked and the cycle was ended for it.
        """
        run = self._board_service.board.run
        place = self._context.transcript.place
        if self.is_asleep and run and run.cycle_cause.endswith(f"{BROKEN_OFF}{place}"):
            return True
        for turn in reversed(self._context.transcript.turns):
            if not isinstance(turn, ToolTurn):
                return False
            if turn.name == END_CYCLE.name and not turn.is_error:
                return True
        return False

    @property
    def turns_used(self) -> int:
        """The model turns of this cycle, or of the whole run if it is finite."""
        run = self._board_service.board.run
        before = run.cycle_turns if run is not None else 0
        return self._context.transcript.model_turns - before

    @property
    def description(self) -> str:
        """How the run sleeps, in words; empty while it is awake."""
        run = self._board_service.board.run
        if run is None or not self.is_asleep:
            return ""
        return f"cycle {run.cycle} done, the next at {iso(run.next_at or 0.0)}"

    # --- the end of a cycle ----------------------------------------------------------------------

    async def end(self, call_id: str, notes: str, next_in: str | None) -> JsonObject:
        """Note what the cycle did, have the clock wake us, and sleep; {"cycle", "next_at"}."""
        run = self._run()
        cause = self._context.cause(call_id)
        if run.is_asleep and run.cycle_cause != cause:
            raise IllegalTransition(f"cycle {run.cycle} has ended already; the next one is set")
        if not notes.strip():
            raise InvalidInput("notes is empty: say what the next cycle must know")
        seconds = self._seconds(next_in)
        now = self._context.now()
        self._write_notes(run, notes, now)
        turns = self._context.transcript.model_turns
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
        """End a cycle whose mind has stopped without doing so, also after a reminder."""
        key = f"silent.{self._context.transcript.place}"
        await self.end(key, text or "(nothing was noted)", None)

    async def outlive(self, failure: ModelFailure, reason: str) -> bool:
        """Whether the run continues though its model cannot be asked now: with the next cycle."""
        if not self.is_infinite or failure.kind not in RETRYABLE:
            return False
        if not self.is_asleep:
            key = f"{BROKEN_OFF}{self._context.transcript.place}"
            await self.end(key, f"This cycle broke off: {reason}", None)
        return True

    async def set_alarm_again(self) -> None:
        """Ask again for the wake-up call that is slept for: a crash may have come before it."""
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

    def _write_notes(self, run: RunFacts, notes: str, now: float) -> None:
        """Add the cycle's notes to the day's log in memory/; again for the same cycle: nothing."""
        day = iso_date(now)
        home = self._context.files.home
        heading = f"## Run {run.id}, cycle {run.cycle}"
        logs = (read_shown(home.memory / name) for name in daily_logs(home))
        if any(f"{heading}\n" in text for text in logs):
            return
        path = home.memory / f"{day}.md"
        text = read_shown(path) or f"# {day}\n"
        replace_file(path, f"{text}\n{heading}\n\n{iso(now)}\n\n{notes.strip()}\n")

    # --- the next one ----------------------------------------------------------------------------

    def wake(self, fired: TriggerFired) -> str | None:
        """Begin the next cycle if this is the wake-up call; return the turn that tells of it.

        None: it is another trigger. Empty: nothing is to be done, the run has ended meanwhile.
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
        """Return what the mind is told at the beginning of a cycle."""
        turn = render(
            "cycle",
            cycle=run.cycle,
            goal=run.goal,
            notes=run.notes.strip(),
            now=iso(self._context.now()),
        )
        return f"{turn}\n\n{upkeep_turn(self._context, run.id, run.cycle)}".rstrip()

    def _run(self) -> RunFacts:
        run = self._board_service.board.run
        if run is None or run.mode != "infinite":
            raise IllegalTransition("this run is finite: call `finish` when its goal is reached")
        if run.status != "running":
            raise IllegalTransition(f"the run has ended: it is {run.status}")
        return run

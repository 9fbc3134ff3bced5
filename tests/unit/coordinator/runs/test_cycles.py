"""The cycles of a coordinator in infinite mode: their ends, their starts, and crashes."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext
from actors.coordinator.files import AgentFiles
from actors.coordinator.runs.cycles import NOTES_KEPT, Cycles
from actors.runtime.runtime import Runtime
from agiraph.agent.transcript import Transcript
from agiraph.board import commands as c
from agiraph.board.board import Board, RunFacts, fold
from agiraph.board.decide import decide
from agiraph.core.errors import IllegalTransition, InvalidInput, ModelFailure
from agiraph.core.ids import AgentId, RunId, derived_message_id
from agiraph.core.models import Agent
from agiraph.core.specs import Mode
from agiraph.core.turns import AssistantTurn, ToolTurn, UserTurn
from agiraph.messages.trigger import CreateTrigger, TriggerFired
from agiraph.triggers.records import trigger_id
from tests.fakes.fake_runtime import FakeRuntime

AGENT = AgentId("monitor-1")
RUN = RunId("r1")
MIDNIGHT = 1_767_225_600.0  # 2026-01-01T00:00:00Z
HOUR = 3600.0


class BoardInMemory:
    """The board of a run, with nothing that follows from it."""

    def __init__(self, mode: Mode, clock: SimpleNamespace) -> None:
        self.board = Board()
        self._clock = clock
        self.execute(
            c.StartRun(
                run_id=RUN, goal="Watch the page", model="a/b", worker_model="a/b", mode=mode
            )
        )

    def execute(self, command: c.Command) -> None:
        self.board = fold(decide(self.board, command, self._clock.now()), self.board)


@dataclass
class CycleCoordinator:
    """As much of a coordinator as its cycles need."""

    home: Path
    mode: Mode = "infinite"
    cycle_seconds: float | None = HOUR
    agent: AgentId = AGENT
    transcript: Transcript = field(default_factory=Transcript)

    def __post_init__(self) -> None:
        self.line = FakeRuntime(self.home)
        self.time = MIDNIGHT
        self.clock = SimpleNamespace(now=lambda: self.time)
        self.line.clock = cast(Any, self.clock)
        self.line.address = f"{AGENT}/coordinator"  # type: ignore[attr-defined]
        self.runtime = cast(Runtime, self.line)
        self.now = self.clock.now
        agent = Agent(
            id=AGENT,
            name="monitor",
            goal="Watch the page",
            mode=self.mode,
            model="a/b",
            worker_model="a/b",
            created_at=0.0,
            updated_at=0.0,
            cycle_seconds=self.cycle_seconds,
        )
        self.args = SimpleNamespace(agent=agent)
        self.files = AgentFiles(self.line.home.agent(AGENT), RUN, agent)
        self.files.home.memory.mkdir(exist_ok=True)
        self.board_service = BoardInMemory(self.mode, self.clock)
        self.cycles = self.next_life()

    def next_life(self) -> Cycles:
        """Return the cycles as another incarnation has them: from the board alone."""
        self.cycles = Cycles(cast(CoordinatorContext, self), cast(BoardService, self.board_service))
        return self.cycles

    def cause(self, call_id: str) -> str:
        return f"{AGENT}/coordinator#{call_id}"

    def message_id(self, key: str) -> bytes:
        return derived_message_id(f"{AGENT}/coordinator", key)

    async def end(
        self, call: str = "call-1", notes: str = "Two posts.", next_in: str | None = None
    ) -> Any:
        return await self.cycles.end(call, notes, next_in)

    @property
    def run(self) -> RunFacts:
        assert self.board_service.board.run is not None
        return self.board_service.board.run

    @property
    def alarms(self) -> list[Any]:
        """The alarms that were set, each id once."""
        return [sent for sent in self.line.sent if isinstance(sent.body, CreateTrigger)]

    @property
    def logs(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.files.home.memory.glob("2*.md")}

    def firing(self, alarm: int = -1) -> TriggerFired:
        return TriggerFired(
            agent=AGENT,
            trigger_id=trigger_id(self.alarms[alarm].id),
            firing="f" * 32,
            name="cycle 2",
            action="wake_agent",
            payload={"task": "begin cycle 2"},
            due=0.0,
        )


@pytest.fixture
def lead(tmp_path: Path) -> CycleCoordinator:
    return CycleCoordinator(tmp_path)


async def test_ending_a_cycle_writes_notes_and_sets_an_alarm(
    lead: CycleCoordinator,
) -> None:
    assert await lead.end() == {"cycle": 1, "next_cycle_at": "2026-01-01T01:00:00Z"}
    assert lead.cycles.is_asleep
    assert lead.cycles.description == "cycle 1 done, the next at 2026-01-01T01:00:00Z"
    assert lead.logs["2026-01-01.md"].count("## Run r1, cycle 1\n") == 1
    [alarm] = lead.alarms
    assert alarm.to == "clock"
    assert alarm.body.config == {"delay_seconds": HOUR}


@pytest.mark.parametrize(
    ("ordered", "asked", "seconds"),
    [(HOUR, None, HOUR), (HOUR, "90s", 90.0), (None, "2h", 7200.0)],
)
async def test_latest_request_sets_the_time_of_the_next_cycle(
    tmp_path: Path, ordered: float | None, asked: str | None, seconds: float
) -> None:
    lead = CycleCoordinator(tmp_path, cycle_seconds=ordered)
    await lead.end(next_in=asked)
    assert lead.run.next_at == MIDNIGHT + seconds


async def test_cycle_without_a_given_time_uses_the_settings(tmp_path: Path) -> None:
    lead = CycleCoordinator(tmp_path, cycle_seconds=None)
    await lead.end()
    assert lead.run.next_at == MIDNIGHT + lead.line.config.run.cycle_seconds


async def test_call_repeated_after_a_crash_ends_one_cycle_and_sets_one_alarm(
    lead: CycleCoordinator,
) -> None:
    first = await lead.end()
    lead.time += 60
    lead.next_life()
    again = await lead.end()
    assert again == first
    assert lead.run.cycle == 1
    assert len(lead.alarms) == 1
    assert "".join(lead.logs.values()).count("cycle 1\n") == 1


async def test_notes_that_were_written_before_the_crash_are_not_written_again_the_next_day(
    lead: CycleCoordinator,
) -> None:
    await lead.end()
    lead.board_service = BoardInMemory("infinite", lead.clock)  # the board had not noted it
    lead.time += 24 * HOUR
    lead.next_life()
    await lead.end()
    assert "".join(lead.logs.values()).count("## Run r1, cycle 1\n") == 1


async def test_ended_cycle_cannot_be_ended_again(lead: CycleCoordinator) -> None:
    await lead.end("call-1")
    with pytest.raises(IllegalTransition, match="cycle 1 has ended already"):
        await lead.end("call-2")


@pytest.mark.parametrize(
    ("order", "why"),
    [
        ({"notes": "  \n"}, "notes is empty"),
        *(({"next_in": wrong}, "next_in") for wrong in ("soon", "-5s", "0")),
    ],
)
async def test_invalid_end_of_a_cycle_is_refused_before_any_write(
    lead: CycleCoordinator, order: dict[str, str], why: str
) -> None:
    with pytest.raises(InvalidInput, match=why):
        await lead.end(**order)
    assert not lead.cycles.is_asleep
    assert not lead.logs


async def test_finite_or_ended_run_has_no_cycles(tmp_path: Path) -> None:
    finite = CycleCoordinator(tmp_path / "finite", mode="finite")
    with pytest.raises(IllegalTransition, match="finite"):
        await finite.end()
    assert not finite.cycles.is_infinite
    ended = CycleCoordinator(tmp_path / "ended")
    ended.board_service.execute(c.StopRun("stopped", "enough"))
    with pytest.raises(IllegalTransition, match="the run has ended: it is stopped"):
        await ended.end()
    assert not ended.cycles.is_infinite


async def test_long_notes_are_whole_in_memory_and_cut_on_the_board(lead: CycleCoordinator) -> None:
    notes = "x" * (NOTES_KEPT + 10)
    await lead.end(notes=notes)
    assert lead.run.notes == notes[:NOTES_KEPT]
    assert notes in lead.logs["2026-01-01.md"]


async def test_alarm_begins_the_next_cycle_with_goal_and_notes(lead: CycleCoordinator) -> None:
    await lead.end()
    told = lead.cycles.wake(lead.firing())
    assert told is not None
    assert "# Cycle 2" in told
    assert "Watch the page" in told
    assert "Two posts." in told
    assert not lead.cycles.is_asleep
    assert lead.run.cycle == 2


async def test_repeated_alarm_begins_one_cycle(lead: CycleCoordinator) -> None:
    await lead.end()
    first = lead.cycles.wake(lead.firing())
    lead.next_life()
    assert lead.cycles.wake(lead.firing()) == first
    assert lead.run.cycle == 2


async def test_alarm_of_an_earlier_cycle_wakes_no_entity(lead: CycleCoordinator) -> None:
    await lead.end("call-1")
    lead.cycles.wake(lead.firing())
    await lead.end("call-2")
    assert lead.cycles.wake(lead.firing(alarm=0)) is None
    assert lead.cycles.is_asleep


async def test_firing_of_another_trigger_starts_no_cycle(lead: CycleCoordinator) -> None:
    await lead.end()
    other = lead.firing().model_copy(update={"trigger_id": "t-000000"})
    assert lead.cycles.wake(other) is None
    assert lead.cycles.is_asleep


async def test_alarm_after_the_end_of_the_run_is_ignored(lead: CycleCoordinator) -> None:
    await lead.end()
    lead.board_service.execute(c.StopRun("stopped", "enough"))
    assert lead.cycles.wake(lead.firing()) == ""


async def test_alarm_is_set_again_for_the_remaining_time_after_a_crash(
    lead: CycleCoordinator,
) -> None:
    await lead.end()
    lead.time += HOUR / 2
    await lead.next_life().set_alarm_again()
    assert len(lead.alarms) == 1, "the same message: the clock has it already"
    lead.line.sent.clear()
    lead.line._ids.clear()
    lead.time += HOUR
    await lead.next_life().set_alarm_again()
    assert lead.alarms[0].body.config["delay_seconds"] > 0


async def test_coordinator_that_is_awake_sets_no_alarm(lead: CycleCoordinator) -> None:
    await lead.cycles.set_alarm_again()
    assert not lead.alarms


@pytest.mark.parametrize("text", [None, "", " \n"])
async def test_silent_coordinator_ends_its_cycle(lead: CycleCoordinator, text: str | None) -> None:
    await lead.cycles.end_silent(text)
    assert lead.cycles.is_asleep
    assert "(nothing was noted)" in lead.logs["2026-01-01.md"]


@pytest.mark.parametrize(("kind", "lives"), [("overloaded", True), ("bad_key", False)])
async def test_a_model_that_cannot_be_asked_now_is_asked_in_the_next_cycle(
    lead: CycleCoordinator, kind: str, lives: bool
) -> None:
    failure = ModelFailure(kind, "not now")
    assert await lead.cycles.outlive(failure, "the model is away") is lives
    assert lead.cycles.is_asleep is lives
    if lives:
        assert lead.cycles.may_not_think, "a restart does not ask it again before its time"
        assert await lead.cycles.outlive(failure, "still away")
        assert len(lead.alarms) == 1


def test_coordinator_that_ended_its_cycle_has_nothing_to_answer(lead: CycleCoordinator) -> None:
    turns = lead.transcript.turns
    assert not lead.cycles.may_not_think
    turns.append(UserTurn(content="Work."))
    turns.append(AssistantTurn(text=None))
    turns.append(ToolTurn(call_id="1", name="end_cycle", content="no", is_error=True))
    assert not lead.cycles.may_not_think, "the cycle has not ended: it was refused"
    turns.append(ToolTurn(call_id="2", name="end_cycle", content="{}"))
    assert lead.cycles.may_not_think
    turns.append(UserTurn(content="[Message from human]: Hello"))
    assert not lead.cycles.may_not_think


async def test_each_cycle_has_its_own_count_of_turns(lead: CycleCoordinator) -> None:
    lead.transcript.progress.model_turns = 7
    assert lead.cycles.turns_used == 7
    await lead.end()
    lead.transcript.progress.model_turns = 9
    assert lead.cycles.turns_used == 2

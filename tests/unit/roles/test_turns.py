"""A team's turns on a board: after a restart from any record, the same turn continues once."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agiraph.board import commands as c
from agiraph.board.board import Board, fold
from agiraph.board.events import BoardEvent
from agiraph.core.models import NodeResult
from agiraph.core.roles import RoleTeamSpec, roles_of
from agiraph.core.specs import NodeSpec
from agiraph.roles.engine import RoleTeamState
from agiraph.roles.on_board import Attempt, current_turn, turn_number, worker_for
from tests.unit.board.board_driver import BoardDriver
from tests.unit.roles.teams import DEVELOPER, LEAD, QA

TASK = "Build it"
SPEC = roles_of(
    {
        "max_turns": 6,
        "roles": {DEVELOPER: {"agent": "codex", "fallback": "ollama/x"}, QA: {"agent": "gemini"}},
    }
)


class TeamDriver(BoardDriver):
    """A board on which a team takes its turns; all that ever happened there is kept."""

    def __init__(self, spec: RoleTeamSpec = SPEC) -> None:
        self.happened: list[BoardEvent] = []
        super().__init__()
        self.spec = spec

    def events(self, command: c.Command) -> tuple[BoardEvent, ...]:
        found = super().events(command)
        self.happened += found
        return found

    def begin(self) -> Attempt:
        """Have the current turn begun, as a coordinator does."""
        attempt = current_turn(self.board, self.spec, TASK)
        worker = worker_for(attempt, (), "a/b", only_writes=False)
        self.do(c.SpawnWorker(f"roles:{worker.name}", worker))
        node = NodeSpec(name=attempt.node, task="take it", worker=worker.name)
        self.do(c.CreateNode(attempt.cause, node))
        self.settle()
        return attempt

    def decide(self, **decision: Any) -> None:
        """Have the current turn end with a decision."""
        node = self.begin().node
        self.do(c.StartNode(node, self.at(node).assigned_worker or "", 1))
        self.done(node, value=decision)

    def break_down(self) -> None:
        """Have the current attempt fail."""
        self.fail(self.begin().node)

    @property
    def state(self) -> RoleTeamState:
        return current_turn(self.board, self.spec, TASK).state


def to(role: str, message: str = "Go on") -> dict[str, str]:
    return {"action": "message", "to_role": role, "message": message}


def test_failed_turn_is_repeated_once_by_the_fallback() -> None:
    driver = TeamDriver()
    driver.decide(**to(DEVELOPER))
    driver.break_down()
    attempt = current_turn(driver.board, SPEC, TASK)
    assert (attempt.node, attempt.agent) == ("turn-2-fallback", "ollama/x")
    assert len(driver.state.turns) == 1, "the turn goes on"
    driver.decide(**to(QA))
    turn = driver.state.turns[-1]
    assert (turn.turn, turn.from_role, turn.from_agent) == (2, DEVELOPER, "ollama/x")
    driver.break_down()
    turn = driver.state.turns[-1]
    assert (turn.from_role, turn.to_role, turn.success) == (QA, LEAD, False), "it has no fallback"
    assert "it went wrong" in turn.message


def test_result_without_a_decision_is_a_failure() -> None:
    driver = TeamDriver()
    driver.decide(action="message", to_role=DEVELOPER, message=" ")
    assert "says nothing" in driver.state.turns[0].message


def test_turn_cut_off_by_the_end_of_the_run_is_not_counted() -> None:
    driver = TeamDriver()
    driver.decide(**to(QA))
    driver.begin()
    driver.do(c.StopRun("stopped", "given up for another goal"))
    assert [turn.turn for turn in driver.state.turns] == [1]
    other = TeamDriver()
    other.do(c.CancelNode(other.begin().node, "not like that"))
    assert "not like that" in other.state.turns[0].message, "one that a person cancels is one"


def test_role_with_a_lost_worker_gets_another_worker() -> None:
    attempt = Attempt(RoleTeamState(SPEC, TASK))
    names = [
        worker_for(attempt, gone, "a/b", only_writes=False).name
        for gone in ((), (LEAD,), (LEAD, f"{LEAD}-2"))
    ]
    assert names == [LEAD, f"{LEAD}-2", f"{LEAD}-3"]


def test_node_name_determines_its_turn() -> None:
    causes = ("roles:turn-12", "roles:turn-3-fallback", "roles:qa_engineer", "c-turn-1")
    assert [turn_number(cause) for cause in causes] == [12, 3, None, None]


STEPS = st.lists(
    st.one_of(
        st.sampled_from([DEVELOPER, QA, LEAD, "nobody"]).map(to),
        st.just({"action": "finalize", "final_response": "Done"}),
        st.none(),
    ),
    max_size=8,
)


@given(STEPS)
def test_restored_journal_keeps_complete_turns_and_continues(
    steps: list[dict[str, str] | None],
) -> None:
    driver = TeamDriver()
    for step in steps:
        if driver.state.end is not None:
            break
        if step is None:
            driver.break_down()
        else:
            driver.decide(**step)
    whole = driver.state.turns
    causes = [node.cause for node in driver.board.nodes.values()]
    assert len(causes) == len(set(causes)), "no attempt is on the board twice"
    known = 0
    for count in range(len(driver.happened) + 1):
        board = fold(driver.happened[:count], Board())
        attempt = current_turn(board, SPEC, TASK)
        turns = attempt.state.turns
        assert turns == whole[: len(turns)], "what was said stays said"
        assert len(turns) >= known
        known = len(turns)
        if attempt.state.end is None and count < len(driver.happened):
            at_work = [node.cause for node in board.nodes.values() if not node.has_ended]
            assert at_work in ([], [attempt.cause]), "the turn that was begun is the one to take"
            later = {node.cause for node in board.nodes.values()}
            assert f"roles:turn-{attempt.state.number + 1}" not in later
    assert known == len(whole)


def test_node_result_is_read_as_a_decision() -> None:
    driver = TeamDriver()
    node = driver.begin().node
    driver.do(c.StartNode(node, driver.at(node).assigned_worker or "", 1))
    driver.do(c.CompleteNode(node, 1, NodeResult(summary="no decision", value=None)))
    assert driver.state.turns[0].success is False

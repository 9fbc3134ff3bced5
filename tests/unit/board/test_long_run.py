"""A run of fifty stages: the board, its journal, its page and its views, as they grow."""

from pathlib import Path

from agiraph.board.board import Board
from agiraph.board.commands import (
    Command,
    CompleteNode,
    FinishRun,
    LaunchRoles,
    Reconvene,
    StartRun,
)
from agiraph.board.plans.plan_page import plan_page
from agiraph.board.scheduler import SchedulingLimits, plan
from agiraph.board.store import BoardStore, read_board
from agiraph.board.view import NODES_SHOWN, board_view
from agiraph.core.ids import RunId
from agiraph.core.models import NodeResult
from agiraph.core.specs import ContractTerms, RoleSpec, StageSpec

STAGES = 50
ROLES = 4


class LongRun:
    """A run with the same team in every stage, except for one new worker in each."""

    def __init__(self, path: Path) -> None:
        self.store = BoardStore(path)
        self.now = 0.0
        self.do(
            StartRun(run_id=RunId("r"), goal="goal", model="m", worker_model="w", max_nodes=1000)
        )

    @property
    def board(self) -> Board:
        return self.store.board

    def do(self, command: Command) -> None:
        self.now += 1
        self.store.execute(command, self.now)
        while actions := plan(self.board, SchedulingLimits(ROLES)):
            for action in actions:
                self.store.execute(action, self.now)

    def stage(self, number: int) -> None:
        names = ["ada", "ben", "cyd", f"guest-{number}"]
        roles = tuple(RoleSpec(name=name, task=f"part {number}") for name in names)
        let_go = (f"guest-{number - 1}",) if number else ()
        contract = ContractTerms(checkpoint_policy="majority")
        stage = StageSpec(name=f"S{number}", roles=roles, contract=contract, retire=let_go)
        self.do(LaunchRoles(f"c{number}", stage))
        for name in names[:3]:
            self.do(
                CompleteNode(f"{name}-s{number}", 1, NodeResult(summary=f"{name} did {number}"))
            )
        self.do(Reconvene(f"assessed {number}", f"r{number}", f"decided {number}"))


def test_a_run_of_fifty_stages_is_the_same_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    run = LongRun(path)
    for number in range(STAGES):
        run.stage(number)
        if number % 10 == 9:
            run.store.close()
            run.store = BoardStore(path)
    run.do(FinishRun("all done"))
    board = run.board
    assert read_board(path) == board
    assert len(board.stages) == STAGES
    assert {stage.over for stage in board.stages} == {"majority"}
    assert [len(stage.stragglers) for stage in board.stages] == [1] * STAGES
    page = plan_page(board)
    for number in range(STAGES):
        assert f"## S{number} (completed)" in page
        assert f"decided {number}" in page
        assert f"Went on without: guest-{number}-s{number}." in page
    run.store.close()


def test_view_of_a_large_board_is_bounded_and_counts_the_omitted_nodes(
    tmp_path: Path,
) -> None:
    run = LongRun(tmp_path / "journal.jsonl")
    for number in range(STAGES):
        run.stage(number)
    roles = (RoleSpec(name="ada", task="part"), RoleSpec(name="ben", task="part"))
    run.do(LaunchRoles("last", StageSpec(name="Last", roles=roles)))
    view = board_view(run.board)
    shown = [row["name"] for row in view["nodes"]]
    assert len(shown) == NODES_SHOWN
    assert shown[-2:] == ["ada-last", "ben-last"]
    assert view["left_out"]["nodes"] == len(run.board.nodes) - NODES_SHOWN
    assert sum(view["left_out"]["by_status"].values()) == view["left_out"]["nodes"]
    assert {row["status"] for row in view["workers"]} <= {"idle", "busy", "stopped"}
    run.store.close()


def test_store_returns_events_from_before_its_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    run = LongRun(path)
    for number in range(STAGES):
        run.stage(number)
    count = run.store.count
    everything = run.store.since(0)
    assert len(everything) == count
    run.store.close()
    store = BoardStore(path)
    assert path.with_name("journal.jsonl.snapshot").exists()
    assert store.count == count
    assert store.since(count) == []
    assert store.since(count - 3) == everything[-3:]
    assert store.since(0) == everything
    store.forget(count)
    assert store.since(count - 1) == everything[-1:]
    assert store.since(0) == everything
    store.close()

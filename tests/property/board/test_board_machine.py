"""A board obeys its rules after any commands in any order."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from agiraph.board import commands as c
from agiraph.board.board import Board, fold
from agiraph.board.decide import decide
from agiraph.board.events import BOARD_EVENT, BoardEvent
from agiraph.board.rules.stages import due_at, is_policy_met
from agiraph.board.scheduler import SchedulingLimits, plan
from agiraph.board.view import board_view
from agiraph.board.wait_cycles import awaited_by, find_cycle
from agiraph.core.errors import Refused
from agiraph.core.ids import RunId
from agiraph.core.models import HELD_NODE, NodeResult, WorkNode
from agiraph.core.node_changes import NodeChanges
from agiraph.core.specs import (
    ContractTerms,
    NodeSpec,
    RoleSpec,
    StageSpec,
    StageTerms,
    WorkerSpec,
    WorkMode,
)

NODES = st.sampled_from(["alpha", "beta", "gamma", "alpha-2", "delta", "nobody"])
WORKERS = st.sampled_from(["ada", "ben", "cyd", "worker-1", "nobody"])
MODES: st.SearchStrategy[WorkMode] = st.sampled_from(["multi_turn", "single_inference"])
TERMS = st.builds(
    StageTerms,
    name=st.none() | st.sampled_from(["One", "Two"]),
    timeout_seconds=st.none() | st.sampled_from([5.0, 30.0]),
    checkpoint_policy=st.none() | st.sampled_from(["all_must_complete", "majority", "any"]),
)
CAUSES = st.integers(0, 30).map(str)


class BoardMachine(RuleBasedStateMachine):
    """Sends commands to a board; refused commands must change nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.board = Board()
        self.journal: list[BoardEvent] = []
        self.ended: dict[str, WorkNode] = {}
        self.now = 0.0

    def do(self, command: c.Command) -> bool:
        self.now += 1
        try:
            happened = decide(self.board, command, self.now)
        except Refused:
            return False
        self.journal.extend(happened)
        self.board = fold(happened, self.board)
        if happened and not isinstance(command, c.BlockNode):
            again = decide(self.board, command, self.now) if _may_repeat(command) else ()
            assert again == (), "the same command twice has its effect once"
        return True

    @initialize()
    def begin(self) -> None:
        self.do(
            c.StartRun(run_id=RunId("r"), goal="goal", model="m", worker_model="w", max_nodes=12)
        )

    @rule(
        cause=CAUSES,
        name=NODES,
        needs=st.lists(NODES, max_size=2),
        refs=st.dictionaries(st.sampled_from("xy"), NODES, max_size=2),
        worker=st.none() | st.just("new") | WORKERS,
        parent=st.none() | NODES,
        terms=st.none() | TERMS,
        mode=st.none() | MODES,
    )
    def create(
        self,
        cause: str,
        name: str,
        needs: list[str],
        refs: dict[str, str],
        worker: str | None,
        parent: str | None,
        terms: StageTerms | None,
        mode: WorkMode | None,
    ) -> None:
        asked = {"refs": refs, "dependencies": needs, "worker": worker, "mode": mode}
        spec = NodeSpec.model_validate({"task": "t", "name": name, **asked})
        self.do(c.CreateNode(f"n{cause}", spec, parent_node=parent, stage=terms))

    @rule(cause=CAUSES, name=WORKERS, mode=MODES)
    def spawn(self, cause: str, name: str, mode: WorkMode) -> None:
        self.do(c.SpawnWorker(f"w{cause}", WorkerSpec(name=name, mode=mode)))

    @rule(
        cause=CAUSES,
        terms=TERMS,
        roles=st.lists(
            st.builds(RoleSpec, name=WORKERS, task=st.just("t"), node=NODES), min_size=1, max_size=3
        ),
        retire=st.lists(WORKERS, max_size=1),
    )
    def launch(
        self, cause: str, terms: StageTerms, roles: list[RoleSpec], retire: list[str]
    ) -> None:
        stages, nodes = len(self.board.stages), len(self.board.nodes)
        contract = ContractTerms.model_validate(terms.shared_with(ContractTerms))
        given = {"name": terms.name, "goal": terms.goal, "contract": contract}
        stage = StageSpec.model_validate({**given, "roles": roles, "retire": retire})
        self.do(c.LaunchRoles(f"s{cause}", stage))
        if len(self.board.stages) > stages:
            assert len(self.board.nodes) == nodes + len(roles), "all of it or nothing"

    @rule()
    def wait_for_stage(self) -> None:
        self.do(c.LaunchStage())

    @rule(later=st.integers(1, 40))
    def time_passes(self, later: int) -> None:
        self.now += later
        due = due_at(self.board)
        if due is not None and self.board.open_stage is not None:
            is_up = due <= self.now + 1
            self.do(c.EndStageEarly(self.board.open_stage))
            assert (due_at(self.board) is None) == is_up

    @rule(node=NODES, worker=WORKERS)
    def assign(self, node: str, worker: str) -> None:
        self.do(c.AssignNode(node, worker))

    @rule(node=NODES, worker=WORKERS)
    def reserve(self, node: str, worker: str) -> None:
        self.do(c.ReserveNode(node, worker))

    @rule(node=NODES, worker=WORKERS, attempt=st.integers(0, 2))
    def start(self, node: str, worker: str, attempt: int) -> None:
        self.do(c.StartNode(node, worker, attempt))

    @rule(node=NODES, waits=st.lists(NODES, max_size=2))
    def block(self, node: str, waits: list[str]) -> None:
        self.do(c.BlockNode(node, tuple(waits)))

    @rule(node=NODES)
    def unblock(self, node: str) -> None:
        self.do(c.UnblockNode(node))

    @rule(node=NODES, attempt=st.integers(0, 2))
    def complete(self, node: str, attempt: int) -> None:
        self.do(c.CompleteNode(node, attempt, NodeResult(summary="done", files=("a.md",))))

    @rule(node=NODES, attempt=st.none() | st.integers(0, 2))
    def fail(self, node: str, attempt: int | None) -> None:
        self.do(c.FailNode(node, attempt, "wrong"))

    @rule(node=NODES)
    def cancel(self, node: str) -> None:
        self.do(c.CancelNode(node, "unwanted"))

    @rule(node=NODES, cause=CAUSES)
    def retry(self, node: str, cause: str) -> None:
        self.do(c.RetryNode(node, f"t{cause}"))

    @rule(node=NODES, cause=CAUSES, worker=st.none() | WORKERS, model=st.sampled_from([None, "m2"]))
    def move(self, node: str, cause: str, worker: str | None, model: str | None) -> None:
        self.do(c.MoveNode(node, f"v{cause}", worker, model))

    @rule(node=NODES, attempt=st.integers(1, 3))
    def release(self, node: str, attempt: int) -> None:
        self.do(c.ReleaseNode(node, attempt))

    @rule(
        cause=CAUSES,
        node=NODES,
        changes=st.builds(
            NodeChanges,
            task=st.none() | st.just("better"),
            checks=st.none() | st.lists(st.just("true"), max_size=1),
            refs=st.none() | st.dictionaries(st.sampled_from("xy"), NODES, max_size=2),
            max_iterations=st.none() | st.integers(1, 3),
        ),
        worker=st.none() | WORKERS,
        accepted=st.sampled_from(["", "good enough"]),
    )
    def update(
        self, cause: str, node: str, changes: NodeChanges, worker: str | None, accepted: str
    ) -> None:
        self.do(c.UpdateNode(node, f"u{cause}", changes, worker, accepted))

    @rule(worker=WORKERS)
    def retire(self, worker: str) -> None:
        self.do(c.RetireWorker(worker))

    @rule(worker=WORKERS)
    def lose(self, worker: str) -> None:
        self.do(c.LoseWorker(worker, "killed"))

    @rule(cause=CAUSES)
    def reconvene(self, cause: str) -> None:
        self.do(c.Reconvene("so far", f"r{cause}", "go on"))

    @rule(max_concurrent=st.integers(1, 3))
    def settle(self, max_concurrent: int) -> None:
        busy_before = sum(w.status == "busy" for w in self.board.team)
        for _ in range(40):
            actions = plan(self.board, SchedulingLimits(max_concurrent))
            if not actions:
                break
            for action in actions:
                assert self.do(action), f"the scheduler asked for what is refused: {action}"
        else:
            raise AssertionError("the scheduler never came to rest")
        busy = sum(w.status == "busy" for w in self.board.team)
        assert busy <= max(busy_before, max_concurrent)

    @rule(way=st.sampled_from(["finish", "stop"]), dice=st.integers(0, 9))
    def end(self, way: str, dice: int) -> None:
        if dice == 0:
            self.do(c.FinishRun("ok") if way == "finish" else c.StopRun("failed", "no"))

    @invariant()
    def workers_and_nodes_agree(self) -> None:
        for worker in self.board.workers.values():
            held = [
                n.id
                for n in self.board.nodes.values()
                if n.assigned_worker == worker.id and not n.has_ended
            ]
            assert held == ([worker.node] if worker.node else [])
            assert (worker.node is None) == (worker.status in ("idle", "stopped"))

    @invariant()
    def ended_stage_has_no_open_nodes(self) -> None:
        for index, stage in enumerate(self.board.stages):
            nodes = [self.board.nodes[node] for node in stage.nodes]
            if stage.over or stage.status == "completed":
                assert all(node.has_ended for node in nodes)
            if index < len(self.board.stages) - 1:
                assert stage.status == "completed"
            for node in stage.stragglers:
                assert self.board.nodes[node].status == "cancelled"
            if stage.over in ("majority", "any"):
                assert is_policy_met(stage, nodes)

    @invariant()
    def workers_have_the_mode_of_their_node(self) -> None:
        for node in self.board.nodes.values():
            if node.assigned_worker is not None:
                assert self.board.workers[node.assigned_worker].mode == node.mode

    @invariant()
    def names_are_unique(self) -> None:
        names = [node.name for node in self.board.nodes.values()]
        assert len(names) == len(set(names)) <= 12
        team = [worker.name.casefold() for worker in self.board.team]
        assert len(team) == len(set(team))

    @invariant()
    def only_ready_nodes_are_assigned(self) -> None:
        for node in self.board.nodes.values():
            if node.status in ("assigned", "running", "blocked", "completed"):
                assert not self.board.waiting_for(node)
                assert node.attempt == 1 or node.retried_by

    @invariant()
    def ended_nodes_never_change(self) -> None:
        for node_id, was in self.ended.items():
            now = self.board.nodes[node_id]  # type: ignore[index]
            if now.retried_by != was.retried_by:
                assert was.status != "completed" or now.completed_before == was.attempt
                continue
            assert now.model_copy(update={"children": was.children}) == was
        self.ended = {n.id: n for n in self.board.nodes.values() if n.has_ended}

    @invariant()
    def only_assigned_nodes_have_a_move(self) -> None:
        for node in self.board.nodes.values():
            assert node.move is None or node.status in HELD_NODE

    @invariant()
    def waits_have_no_cycle(self) -> None:
        waits: dict[str, tuple[str, ...]] = {
            n.id: (*n.dependencies, *awaited_by(self.board, n.id))
            for n in self.board.nodes.values()
            if not n.has_ended
        }
        assert find_cycle(waits) is None
        blocked = {n.id for n in self.board.nodes.values() if n.status == "blocked"}
        assert set(self.board.waits) == blocked

    @invariant()
    def ended_run_has_no_open_nodes(self) -> None:
        if not self.board.is_running:
            assert all(node.has_ended for node in self.board.nodes.values())
            assert plan(self.board, SchedulingLimits(4)) == ()

    @invariant()
    def board_can_be_shown(self) -> None:
        assert len(board_view(self.board)["nodes"]) == len(self.board.nodes)

    def teardown(self) -> None:
        records = [event.model_dump(mode="json") for event in self.journal]
        assert fold(BOARD_EVENT.validate_python(record) for record in records) == self.board


def _may_repeat(command: c.Command) -> bool:
    """Whether repeating a command must be harmless: all commands except those about time."""
    return not isinstance(command, c.EndStageEarly)


BoardMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestBoardMachine = BoardMachine.TestCase

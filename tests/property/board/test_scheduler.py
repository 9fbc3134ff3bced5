"""The scheduler: for any graph and team, all work is done, once, within the limit."""

from hypothesis import given
from hypothesis import strategies as st

from agiraph.board import commands as c
from agiraph.board.scheduler import Action
from agiraph.core.models import WorkNode
from agiraph.core.specs import WorkerSpec, WorkMode
from tests.unit.board.board_driver import BoardDriver

ROLES = st.sampled_from(["worker", "writer", "Writer", "analyst"])
MODES: st.SearchStrategy[WorkMode] = st.sampled_from(["multi_turn", "single_inference"])


class SchedulerDriver(BoardDriver):
    """A board, and the workers that execute the scheduler's actions."""

    def __init__(self, max_concurrent: int, max_workers: int) -> None:
        self.most = max_concurrent
        self.given: list[tuple[str, str]] = []
        super().__init__(max_workers=max_workers)

    def rest(self) -> None:
        """Execute the scheduler's actions until there are none."""
        for _ in range(200):
            actions = self.plan(self.most)
            self.check(actions)
            if not actions:
                return
            for action in actions:
                self.do(action)
        raise AssertionError("the scheduler never came to rest")

    def check(self, actions: tuple[Action, ...]) -> None:
        """Assign no node and no worker twice, and no node before it is ready."""
        assigns = [action for action in actions if isinstance(action, c.AssignNode)]
        assert len({action.node for action in assigns}) == len(assigns)
        assert len({action.worker for action in assigns}) == len(assigns)
        for action in assigns:
            node = next(n for n in self.board.nodes.values() if n.id == action.node)
            worker = next(w for w in self.board.team if w.id == action.worker)
            assert self.board.is_ready(node)
            assert (worker.status, worker.mode) == ("idle", node.mode)
            assert node.wanted_worker in (None, worker.id)
            self.given.append((action.node, action.worker))

    @property
    def at_work(self) -> list[WorkNode]:
        return [n for n in self.board.nodes.values() if n.status in ("assigned", "running")]


@st.composite
def drivers(draw: st.DrawFn) -> SchedulerDriver:
    """Draw a team and a graph of nodes; each depends on earlier nodes only."""
    driver = SchedulerDriver(draw(st.integers(1, 4)), draw(st.integers(3, 8)))
    for number in range(draw(st.integers(0, 3))):
        spec = WorkerSpec(name=f"w{number}", role=draw(ROLES), mode=draw(MODES))
        driver.do(c.SpawnWorker(f"w{number}", spec))
    team = [worker.name for worker in driver.board.team]
    for number in range(draw(st.integers(1, 10))):
        needs = draw(st.sets(st.integers(0, number - 1), max_size=2)) if number else set()
        worker = draw(st.none() | st.sampled_from(team)) if team else None
        names = tuple(f"n{need}" for need in sorted(needs))
        mode = None if worker else draw(MODES)
        driver.node(f"n{number}", *names, role=draw(ROLES), worker=worker, mode=mode)
    return driver


@given(driver=drivers(), data=st.data())
def test_all_work_is_done_once_and_within_the_limit(
    driver: SchedulerDriver, data: st.DataObject
) -> None:
    for _ in range(len(driver.board.nodes) + 1):
        driver.rest()
        assert len(driver.at_work) <= driver.most
        if not driver.at_work:
            break
        node = data.draw(st.sampled_from(driver.at_work))
        driver.done(node.id)
    for node in driver.board.nodes.values():
        if node.status == "failed":
            assert "nobody in it has" in (node.reason or "")
        else:
            assert node.status == "completed", f"{node.name} starves: {node.status}"
    assert len({node for node, _ in driver.given}) == len(driver.given)


@given(driver=drivers(), data=st.data())
def test_node_that_can_never_start_fails_with_the_cause(
    driver: SchedulerDriver, data: st.DataObject
) -> None:
    unlucky = data.draw(st.sampled_from([n.name for n in driver.board.nodes.values()]))
    fail, cancel = c.FailNode(unlucky, None, "it went wrong"), c.CancelNode(unlucky, "not wanted")
    driver.do(fail if data.draw(st.booleans()) else cancel)
    driver.rest()
    lost = {n.id for n in driver.board.nodes.values() if n.status in ("failed", "cancelled")}
    for node in driver.board.nodes.values():
        needs_lost = lost & set(node.dependencies)
        if not needs_lost or node.name == unlucky:
            continue
        assert node.status == "failed"
        names = [driver.board.nodes[need].name for need in node.dependencies if need in lost]
        assert any(f"'{name}'" in (node.reason or "") for name in names)


@given(driver=drivers())
def test_worker_with_the_role_of_the_node_is_preferred(driver: SchedulerDriver) -> None:
    assigns = [one for one in driver.plan(100) if isinstance(one, c.AssignNode)]
    taken = {one.worker for one in assigns}
    for action in assigns:
        node = next(n for n in driver.board.nodes.values() if n.id == action.node)
        worker = next(w for w in driver.board.team if w.id == action.worker)
        if node.wanted_worker is None and worker.role.lower() != node.role.lower():
            fitting = [w for w in driver.board.team if w.role.lower() == node.role.lower()]
            kept = {n.wanted_worker for n in driver.board.nodes.values() if n.status == "pending"}
            assert all(w.id in taken or w.id in kept or w.mode != node.mode for w in fitting), (
                "a fitting worker was left idle"
            )

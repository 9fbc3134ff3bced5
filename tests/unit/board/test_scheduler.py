"""What the scheduler asks for: who gets which node, when a worker is spawned, what must fail."""

from agiraph.board.commands import AssignNode, BlockNode, FailNode, LoseWorker, SpawnWorker
from tests.unit.board.desk import Desk


def given(desk: Desk) -> dict[str, str]:
    board = desk.board
    return {
        node.name: board.workers[node.assigned_worker].name
        for node in board.nodes.values()
        if node.assigned_worker
    }


def test_a_quiet_board_asks_for_nothing() -> None:
    desk = Desk()
    assert desk.plan() == ()
    desk.worker("ada")
    assert desk.plan() == ()


def test_a_ready_node_goes_to_an_idle_worker() -> None:
    desk = Desk()
    desk.worker("ada")
    desk.node("one")
    desk.node("two", "one")
    assert desk.plan() == (AssignNode(desk.at("one").id, desk.who("ada").id),)


def test_the_worker_with_the_role_is_preferred() -> None:
    desk = Desk()
    desk.worker("ada", "writer")
    desk.worker("ben", "Data Analyst")
    desk.node("numbers", role="data analyst")
    desk.node("text", role="writer")
    desk.settle()
    assert given(desk) == {"numbers": "ben", "text": "ada"}


def test_a_named_worker_gets_its_node_and_nobody_else_does() -> None:
    desk = Desk()
    desk.worker("ada")
    desk.worker("ben")
    desk.node("any")
    desk.node("bens", worker="ben")
    desk.node("bens-too", worker="ben")
    desk.settle()
    assert given(desk) == {"any": "ada", "bens": "ben"}


def test_a_worker_that_a_later_node_waits_for_is_left_free() -> None:
    desk = Desk()
    desk.worker("ada")
    desk.worker("writer")
    desk.node("research", worker="ada")
    desk.node("report", "research", worker="writer")
    desk.node("other")
    desk.settle()
    assert given(desk) == {"research": "ada", "other": "worker-1"}


def test_workers_are_spawned_up_to_the_limit() -> None:
    desk = Desk()
    for number in range(5):
        desk.node(f"n{number}", role="scout")
    spawned = desk.plan(max_concurrent=3)
    assert [type(action) for action in spawned] == [SpawnWorker] * 3
    desk.settle(max_concurrent=3)
    assert given(desk) == {"n0": "scout-1", "n1": "scout-2", "n2": "scout-3"}


def test_a_worker_that_waits_for_its_children_takes_no_place() -> None:
    desk = Desk()
    desk.node("parent")
    desk.settle(max_concurrent=1)
    desk.node("child")
    assert desk.plan(max_concurrent=1) == ()
    desk.do(BlockNode("parent", ("child",)))
    desk.settle(max_concurrent=1)
    assert set(given(desk)) == {"parent", "child"}


def test_a_node_kept_for_a_lost_worker_fails_and_says_so() -> None:
    desk = Desk()
    desk.worker("ada")
    desk.node("one", worker="ada")
    desk.do(LoseWorker("ada", "gone"))
    (action,) = desk.plan()
    assert action == FailNode(
        desk.at("one").id, None, "worker 'ada', for whom it was kept, has stopped"
    )


def test_a_lost_worker_is_replaced_for_the_next_node() -> None:
    desk = Desk()
    desk.node("one")
    desk.settle()
    desk.do(LoseWorker("worker-1", "gone"))
    desk.node("two")
    desk.settle()
    assert desk.at("two").assigned_worker == desk.who("worker-2").id

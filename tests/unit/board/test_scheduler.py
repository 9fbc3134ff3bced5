"""The scheduler's actions: assignments, spawned workers, nodes that must fail."""

from agiraph.board.commands import AssignNode, BlockNode, FailNode, LoseWorker, SpawnWorker
from tests.unit.board.board_driver import BoardDriver


def given(driver: BoardDriver) -> dict[str, str]:
    board = driver.board
    return {
        node.name: board.workers[node.assigned_worker].name
        for node in board.nodes.values()
        if node.assigned_worker
    }


def test_idle_board_needs_no_commands() -> None:
    driver = BoardDriver()
    assert driver.plan() == ()
    driver.worker("ada")
    assert driver.plan() == ()


def test_ready_node_is_assigned_to_an_idle_worker() -> None:
    driver = BoardDriver()
    driver.worker("ada")
    driver.node("one")
    driver.node("two", "one")
    assert driver.plan() == (AssignNode(driver.at("one").id, driver.who("ada").id),)


def test_the_worker_with_the_role_is_preferred() -> None:
    driver = BoardDriver()
    driver.worker("ada", "writer")
    driver.worker("ben", "Data Analyst")
    driver.node("numbers", role="data analyst")
    driver.node("text", role="writer")
    driver.settle()
    assert given(driver) == {"numbers": "ben", "text": "ada"}


def test_only_the_named_worker_gets_its_node() -> None:
    driver = BoardDriver()
    driver.worker("ada")
    driver.worker("ben")
    driver.node("any")
    driver.node("bens", worker="ben")
    driver.node("bens-too", worker="ben")
    driver.settle()
    assert given(driver) == {"any": "ada", "bens": "ben"}


def test_worker_named_by_a_later_node_stays_free() -> None:
    driver = BoardDriver()
    driver.worker("ada")
    driver.worker("writer")
    driver.node("research", worker="ada")
    driver.node("report", "research", worker="writer")
    driver.node("other")
    driver.settle()
    assert given(driver) == {"research": "ada", "other": "worker-1"}


def test_workers_are_spawned_up_to_the_limit() -> None:
    driver = BoardDriver()
    for number in range(5):
        driver.node(f"n{number}", role="scout")
    spawned = driver.plan(max_concurrent=3)
    assert [type(action) for action in spawned] == [SpawnWorker] * 3
    driver.settle(max_concurrent=3)
    assert given(driver) == {"n0": "scout-1", "n1": "scout-2", "n2": "scout-3"}


def test_worker_that_waits_for_its_sub_nodes_occupies_no_place() -> None:
    driver = BoardDriver()
    driver.node("parent")
    driver.settle(max_concurrent=1)
    driver.node("child")
    assert driver.plan(max_concurrent=1) == ()
    driver.do(BlockNode("parent", ("child",)))
    driver.settle(max_concurrent=1)
    assert set(given(driver)) == {"parent", "child"}


def test_node_reserved_for_a_lost_worker_fails_with_the_reason() -> None:
    driver = BoardDriver()
    driver.worker("ada")
    driver.node("one", worker="ada")
    driver.do(LoseWorker("ada", "gone"))
    (action,) = driver.plan()
    assert action == FailNode(
        driver.at("one").id, None, "worker 'ada', for whom it was kept, has stopped"
    )


def test_a_lost_worker_is_replaced_for_the_next_node() -> None:
    driver = BoardDriver()
    driver.node("one")
    driver.settle()
    driver.do(LoseWorker("worker-1", "gone"))
    driver.node("two")
    driver.settle()
    assert driver.at("two").assigned_worker == driver.who("worker-2").id

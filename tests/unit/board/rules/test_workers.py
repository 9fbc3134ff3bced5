"""The states of a worker: spawned, retired, lost; free and reserved names."""

import pytest

from agiraph.board.commands import FinishRun, LoseWorker, RetireWorker, SpawnWorker
from agiraph.board.names import find_worker
from agiraph.core.errors import IllegalTransition, InvalidInput
from agiraph.core.ids import RESERVED_NAMES, short_derived_id
from agiraph.core.specs import WorkerSpec
from tests.unit.board.board_driver import BoardDriver


def test_a_worker_is_called_by_name_and_known_by_id() -> None:
    driver = BoardDriver()
    driver.do(SpawnWorker("w1", WorkerSpec(name="Ada Byron", role="analyst", model="x/y")))
    worker = driver.board.worker_by_cause("w1")
    assert worker is not None
    assert worker.id == f"ada-byron-{short_derived_id('r1', 'w1')}"
    for named in ("Ada Byron", "ada byron", worker.id):
        assert find_worker(driver.board, named) == worker


def test_the_same_cause_spawns_one_worker() -> None:
    driver = BoardDriver()
    driver.do(SpawnWorker("w1", WorkerSpec(name="ada")))
    assert driver.do(SpawnWorker("w1", WorkerSpec(name="ada"))) == []


@pytest.mark.parametrize(
    ("name", "why"),
    [
        *((name, "reserved") for name in sorted(RESERVED_NAMES - {"*"})),
        *((name, "reserved") for name in ("Human", "ROUTER", "\uff48uman", " supervisor ")),
        *((name, "cannot be called") for name in ("*", "  ", "a/b", "a\\b", "x" * 41, "a\x00b")),
        *((name, "cannot be called") for name in ("..", ".", "...", "-", "~", "?", "@human")),
        *((name, "cannot be called") for name in ("a\nb", "a\tb", "a\x1b[31mb", "a\u202eb")),
    ],
)
def test_reserved_and_invalid_names_are_refused(name: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        BoardDriver().worker(name)


def test_name_is_reserved_until_its_worker_has_stopped() -> None:
    driver = BoardDriver()
    driver.worker("ada")
    with pytest.raises(InvalidInput, match="'Ada' is taken by worker ada-"):
        driver.do(SpawnWorker("w2", WorkerSpec(name="Ada")))
    driver.do(RetireWorker("ada"))
    assert driver.do(SpawnWorker("w2", WorkerSpec(name="Ada"))) == ["worker.spawned"]
    assert find_worker(driver.board, "ada").cause == "w2"


def test_a_name_in_no_known_script_is_kept() -> None:
    driver = BoardDriver()
    driver.worker("李雷")
    driver.worker("韩梅")
    assert [worker.id.partition("-")[0] for worker in driver.board.team] == ["worker", "worker"]
    assert find_worker(driver.board, "韩梅").name == "韩梅"


def test_an_autonomous_worker_needs_a_command() -> None:
    with pytest.raises(InvalidInput, match="needs an agent_command"):
        BoardDriver().do(SpawnWorker("w1", WorkerSpec(name="ada", type="autonomous")))


def test_a_worker_with_a_node_is_not_retired() -> None:
    driver = BoardDriver()
    driver.busy("one", "ada")
    driver.refuses(RetireWorker("ada"), r"'ada' holds node 'one' \(running\)")


def test_lost_worker_has_no_node() -> None:
    driver = BoardDriver()
    driver.busy("one", "ada")
    assert driver.do(LoseWorker("ada", "killed by signal 9")) == ["node.failed", "worker.stopped"]
    assert (driver.who("ada").status, driver.who("ada").node) == ("stopped", None)
    assert driver.at("one").reason == "its worker 'ada' was lost: killed by signal 9"
    assert driver.do(LoseWorker("ada", "again")) == []


def test_stopped_worker_gets_no_node() -> None:
    driver = BoardDriver()
    driver.worker("ada")
    driver.do(RetireWorker("ada"))
    assert driver.do(RetireWorker("ada")) == []
    driver.node("one")
    with pytest.raises(IllegalTransition, match="'ada' has stopped"):
        driver.assign("one", "ada")


def test_workers_stop_when_the_run_ends() -> None:
    driver = BoardDriver()
    driver.worker("ada")
    driver.do(FinishRun(""))
    assert driver.who("ada").status == "stopped"
    assert driver.do(RetireWorker("ada")) == []

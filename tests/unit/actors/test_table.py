"""The table of children: what its journal says of them."""

from pathlib import Path

import pytest

from actors.supervisor.register import Register
from actors.supervisor.table import (
    Declared,
    DesiredSet,
    Forgotten,
    IncarnationGiven,
    ProcessBegan,
    Table,
    compacted,
    fold,
    to_record,
)
from agiraph.ids import Address
from agiraph.messages import ChildSpec


def spec(address: str, **more: object) -> ChildSpec:
    return ChildSpec.model_validate({"address": Address(address), "kind": "worker"} | more)


def table_of(*events: Declared | DesiredSet | Forgotten | IncarnationGiven) -> Table:
    return fold(to_record(event) for event in events)


def test_declared_children_are_resumed_in_order() -> None:
    table = table_of(Declared(spec=spec("a/coordinator")), Declared(spec=spec("a/x")))
    assert [one.address for one in table.to_resume()] == ["a/coordinator", "a/x"]


@pytest.mark.parametrize("desired", ["stopped", "exited", "failed"])
def test_a_child_at_rest_is_not_resumed(desired: str) -> None:
    rest = DesiredSet.model_validate({"address": "a/x", "desired": desired, "cause": "why"})
    table = table_of(Declared(spec=spec("a/x")), rest)
    assert table.to_resume() == []
    assert table.rows["a/x"].cause == "why"


def test_declaring_again_makes_it_run_with_the_new_spec() -> None:
    table = table_of(
        Declared(spec=spec("a/x")),
        DesiredSet(address="a/x", desired="failed"),
        Declared(spec=spec("a/x", args={"n": 2})),
    )
    assert table.to_resume() == [spec("a/x", args={"n": 2})]


def test_incarnations_outlive_their_address() -> None:
    table = table_of(
        Declared(spec=spec("a/x")),
        IncarnationGiven(address="a/x", incarnation=7),
        Forgotten(address="a/x"),
    )
    assert table.rows == {}
    assert table.next_incarnation("a/x") == 8
    assert table.next_incarnation("a/new") == 1


def test_an_event_about_an_unknown_child_changes_nothing() -> None:
    assert table_of(DesiredSet(address="a/x", desired="stopped")) == Table()


def test_a_compacted_table_is_the_same_table() -> None:
    table = table_of(
        Declared(spec=spec("a/x")),
        IncarnationGiven(address="a/x", incarnation=1),
        IncarnationGiven(address="gone/y", incarnation=4),
        DesiredSet(address="a/x", desired="failed", cause="boom"),
    )
    began = ProcessBegan(address="a/x", pid=5, started_at=1.5, boot="b")
    table = fold([*compacted(table), to_record(began)])
    assert fold(compacted(table)) == table


def test_a_record_of_no_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="type"):
        fold([{"type": "nonsense"}])


def test_the_register_survives_and_stays_short(tmp_path: Path) -> None:
    path = tmp_path / "children.journal"
    register = Register(path)
    register.declare(spec("a/x"))
    register.declare(spec("a/x"))
    numbers = [register.allot("a/x") for _ in range(600)]
    register.close()
    assert numbers == list(range(1, 601))
    reopened = Register(path)
    assert reopened.allot("a/x") == 601
    reopened.close()
    assert len(path.read_text().splitlines()) < 10


def test_forgetting_an_unknown_child_writes_nothing(tmp_path: Path) -> None:
    register = Register(tmp_path / "children.journal")
    register.forget("a/x")
    register.rest(DesiredSet(address="broker", desired="failed"))
    register.close()
    assert (tmp_path / "children.journal").read_text() == ""

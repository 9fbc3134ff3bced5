"""The table of children, from its journal."""

from pathlib import Path

import pytest

from agiraph.core.ids import Address
from agiraph.messages.child import ChildSpec
from agiraph.readmodel.child_register import (
    ChildDeclared,
    ChildForgotten,
    ChildRegister,
    DesiredStateSet,
    IncarnationAssigned,
    ProcessStarted,
    RegisteredChildren,
    compacted,
    fold,
    to_record,
)


def spec(address: str, **more: object) -> ChildSpec:
    return ChildSpec.model_validate({"address": Address(address), "kind": "worker"} | more)


def running(table: RegisteredChildren) -> list[ChildSpec]:
    return [row.spec for row in table.rows.values() if row.desired == "running"]


def table_of(
    *events: ChildDeclared | DesiredStateSet | ChildForgotten | IncarnationAssigned,
) -> RegisteredChildren:
    return fold(to_record(event) for event in events)


def test_declared_children_are_resumed_in_order() -> None:
    table = table_of(ChildDeclared(spec=spec("a/coordinator")), ChildDeclared(spec=spec("a/x")))
    assert [one.address for one in running(table)] == ["a/coordinator", "a/x"]


@pytest.mark.parametrize("desired", ["stopped", "exited", "failed"])
def test_stopped_child_is_not_resumed(desired: str) -> None:
    rest = DesiredStateSet.model_validate({"address": "a/x", "desired": desired, "cause": "why"})
    table = table_of(ChildDeclared(spec=spec("a/x")), rest)
    assert running(table) == []
    assert table.rows["a/x"].cause == "why"


def test_repeated_declaration_runs_the_child_with_the_new_spec() -> None:
    table = table_of(
        ChildDeclared(spec=spec("a/x")),
        DesiredStateSet(address="a/x", desired="failed"),
        ChildDeclared(spec=spec("a/x", args={"n": 2})),
    )
    assert running(table) == [spec("a/x", args={"n": 2})]


def test_incarnations_outlive_their_address() -> None:
    table = table_of(
        ChildDeclared(spec=spec("a/x")),
        IncarnationAssigned(address="a/x", incarnation=7),
        ChildForgotten(address="a/x"),
    )
    assert table.rows == {}
    assert table.next_incarnation("a/x") == 8
    assert table.next_incarnation("a/new") == 1


def test_event_of_an_unknown_child_changes_nothing() -> None:
    assert table_of(DesiredStateSet(address="a/x", desired="stopped")) == RegisteredChildren()


def test_a_compacted_table_is_the_same_table() -> None:
    table = table_of(
        ChildDeclared(spec=spec("a/x")),
        IncarnationAssigned(address="a/x", incarnation=1),
        IncarnationAssigned(address="gone/y", incarnation=4),
        DesiredStateSet(address="a/x", desired="failed", cause="boom"),
    )
    began = ProcessStarted(address="a/x", pid=5, started_at=1.5, boot="b")
    table = fold([*compacted(table), to_record(began)])
    assert fold(compacted(table)) == table


def test_a_record_of_no_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="type"):
        fold([{"type": "nonsense"}])


def test_the_register_survives_and_stays_short(tmp_path: Path) -> None:
    path = tmp_path / "children.journal"
    register = ChildRegister(path)
    register.declare(spec("a/x"))
    register.declare(spec("a/x"))
    numbers = [register.allot("a/x") for _ in range(600)]
    register.close()
    assert numbers == list(range(1, 601))
    reopened = ChildRegister(path)
    assert reopened.allot("a/x") == 601
    reopened.close()
    assert len(path.read_text().splitlines()) < 10


def test_forgetting_an_unknown_child_writes_nothing(tmp_path: Path) -> None:
    register = ChildRegister(tmp_path / "children.journal")
    register.forget("a/x")
    register.rest(DesiredStateSet(address="broker", desired="failed"))
    register.close()
    assert (tmp_path / "children.journal").read_text() == ""

"""Identifiers: readable, safe in a path, and the same for the same step."""

from hypothesis import given
from hypothesis import strategies as st

from agiraph.core import ids
from agiraph.core.ids import AgentId, WorkerId


def test_slug_has_words_joined_by_dashes() -> None:
    assert ids.slug("  Straße & Café: Report #2!") == "strae-cafe-report-2"
    assert ids.slug("数据") == "x"
    assert ids.slug("数据", fallback="node") == "node"


@given(st.text())
def test_a_slug_is_always_a_safe_file_name(text: str) -> None:
    made = ids.slug(text)
    assert 1 <= len(made) <= ids.SLUG_LIMIT
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert not made.startswith("-")
    assert not made.endswith("-")
    assert ids.slug(made) == made


def test_derived_ids_follow_from_their_parts() -> None:
    assert ids.derived_id("run", "cause") == ids.derived_id("run", "cause")
    assert ids.derived_id("run", "cause") != ids.derived_id("runc", "ause")
    assert len(ids.derived_id("a")) == 2 * 16, "128 bits: nothing else has it by chance"
    assert len(ids.short_derived_id("a")) == len(ids.short_id()) == 6


def test_a_long_id_is_shown_by_its_first_digits() -> None:
    long = "a-" + "0123456789abcdef" * 2
    assert ids.abbreviated(long) == "a-01234567"
    assert ids.abbreviated(f"{long}-2") == "a-01234567"
    assert [ids.abbreviated(one) for one in ("a-3fa9c1", "x")] == ["a-3fa9c1", "x"]
    assert ids.ids_meant("a-0123", [long, "a-3fa9c1"]) == [long]
    assert ids.ids_meant("a-012", [long]) == [], "so few digits are a slip"
    assert ids.ids_meant(long, [long, f"{long}-2"]) == [long]


def test_open_id_is_found_by_any_prefix() -> None:
    known = ["q-3f9c1d0a", "q-3e0011aa", "a-81cc07e2", "a-81cc07e2-2"]
    assert ids.open_ids_meant("q-3f", known) == ids.open_ids_meant("3f9", known) == known[:1]
    assert ids.open_ids_meant("q-3", known) == known[:2]
    assert ids.open_ids_meant("a-81cc07e2", known) == ["a-81cc07e2"]
    for none in ("q", "q-", "", "a-3f", "-"):
        assert ids.open_ids_meant(none, known) == [], none


def test_a_position_of_another_epoch_is_another_place() -> None:
    one, other = ids.new_epoch(), ids.new_epoch()
    assert len({ids.step_place(epoch, 7) for epoch in (one, other, "")}) == 3


def test_a_step_that_runs_again_sends_the_same_ids() -> None:
    first = ids.derived_message_id("a/coordinator", "17", 0)
    assert first == ids.derived_message_id("a/coordinator", "17", 0)
    others = {
        ids.derived_message_id("a/coordinator", "17", 1),
        ids.derived_message_id("a/coordinator", "18", 0),
        ids.derived_message_id("b/coordinator", "17", 0),
        ids.message_id(),
    }
    assert first not in others
    assert {len(made) for made in (first, *others)} == {ids.MESSAGE_ID_BYTES}


def test_address_names_its_agent() -> None:
    agent = AgentId("demo-1")
    assert ids.agent_of(ids.coordinator_address(agent)) == agent
    assert ids.agent_of(ids.worker_address(agent, WorkerId("ada-1"))) == agent
    for service in ("broker", "human", "console/1", "tools/files", "host/atlas"):
        assert ids.agent_of(service) is None

"""Who begins again together: the three strategies, over any group and any end."""

from hypothesis import given
from hypothesis import strategies as st

from actors.supervisor.restarts import affected, group_of, members_of
from agiraph.core.ids import Address
from agiraph.messages.child import ChildSpec

names = st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True)
strategies = st.sampled_from(["one_for_one", "rest_for_one", "one_for_all"])


@given(names, st.data())
def test_each_strategy_says_who(members: list[str], data: st.DataObject) -> None:
    ended = data.draw(st.sampled_from(members))
    assert affected(members, "one_for_one", ended) == ()
    rest = affected(members, "rest_for_one", ended)
    everybody = affected(members, "one_for_all", ended)
    assert [*members[: members.index(ended)], ended, *rest] == members
    assert sorted([*everybody, ended]) == sorted(members)
    assert set(rest) <= set(everybody)


@given(names, strategies, st.data())
def test_the_order_is_kept_and_the_ended_one_is_never_among_them(
    members: list[str], strategy: str, data: st.DataObject
) -> None:
    ended = data.draw(st.sampled_from(members))
    found = affected(members, strategy, ended)  # type: ignore[arg-type]
    assert ended not in found
    assert list(found) == [member for member in members if member in found]


@given(st.lists(st.tuples(st.sampled_from(["shop", "mill"]), st.sampled_from("xyz")), max_size=12))
def test_groups_never_span_agents(children: list[tuple[str, str]]) -> None:
    specs = {
        f"{agent}/{number}": ChildSpec(
            address=Address(f"{agent}/{number}"), kind="worker", group=group, strategy="one_for_all"
        )
        for number, (agent, group) in enumerate(children)
    }
    for address, spec in specs.items():
        key = group_of(spec)
        assert key is not None
        members = members_of(key, specs)
        assert address in members
        assert all(member.partition("/")[0] == key[0] for member in members)
        assert all(specs[member].group == spec.group for member in members)


def test_who_says_nothing_of_a_group_is_in_none() -> None:
    lone = ChildSpec(address=Address("shop/ada"), kind="worker")
    assert group_of(lone) is None
    assert group_of(lone.model_copy(update={"group": "pair"})) is None
    assert group_of(lone.model_copy(update={"strategy": "one_for_all"})) is None
    service = ChildSpec(
        address=Address("broker"), kind="broker", group="all", strategy="one_for_all"
    )
    assert group_of(service) is None

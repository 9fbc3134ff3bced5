"""Placement: a process starts only where it may run, on its last machine if possible."""

from hypothesis import given
from hypothesis import strategies as st

from actors.supervisor.placement import Machine, NotPlaced, PlacementRequest, place
from agiraph.core.hosts import HOME_HOST

LABELS = ("linux", "gpu", "has:docker")
NAMES = ("a", "b", "c")
label_sets = st.frozensets(st.sampled_from(LABELS))


def machine(name: str) -> st.SearchStrategy[Machine]:
    return st.builds(
        Machine,
        st.just(name),
        label_sets,
        is_open=st.booleans(),
        cores=st.integers(1, 64),
        load=st.floats(0, 100),
        processes=st.integers(0, 100),
        free_memory_bytes=st.none() | st.integers(0, 2**33),
    )


@given(
    home=machine(HOME_HOST),
    hosts=st.lists(st.sampled_from(NAMES), unique=True).flatmap(
        lambda names: st.tuples(*map(machine, names))
    ),
    wish=st.builds(
        PlacementRequest,
        st.none() | st.sampled_from((HOME_HOST, *NAMES, "unknown")),
        label_sets.map(tuple),
        st.sampled_from(("", HOME_HOST, *NAMES)),
    ),
)
def test_placement_fits_the_request_and_fails_only_if_no_machine_fits(
    home: Machine, hosts: tuple[Machine, ...], wish: PlacementRequest
) -> None:
    machines = [home, *hosts]
    fitting = {
        one.name: one
        for one in machines
        if one.is_open and wish.host in (None, one.name) and one.labels.issuperset(wish.labels)
    }
    placed = place(wish, machines)
    if isinstance(placed, NotPlaced):
        assert not fitting
        assert placed.reason
        return
    assert placed in fitting
    if wish.last in fitting:
        assert placed == wish.last
    elif any(one.has_memory for one in fitting.values()):
        assert fitting[placed].has_memory


def test_missing_machine_or_label_is_named() -> None:
    machines = [Machine(HOME_HOST), Machine("a", frozenset({"gpu"}), is_open=False)]
    asked = {
        PlacementRequest("b"): "there is no machine 'b' (known: home, a)",
        PlacementRequest(labels=("tpu",)): "no machine has the label tpu",
        PlacementRequest("home", ("gpu",)): "machine 'home' does not have the label gpu",
        PlacementRequest(
            labels=("gpu",)
        ): "it waits for a, which cannot be reached or takes no new work",
    }
    for wish, reason in asked.items():
        assert place(wish, machines) == NotPlaced(reason)


def test_least_busy_machine_is_chosen_and_the_home_among_equals() -> None:
    home, other = Machine(HOME_HOST, cores=2, load=1), Machine("a", cores=4, load=2)
    assert place(PlacementRequest(), [home, other]) == HOME_HOST
    assert place(PlacementRequest(), [home, Machine("a", cores=8, load=2)]) == "a"
    assert (
        place(PlacementRequest(), [home, Machine("a", cores=8, load=2, free_memory_bytes=1)])
        == HOME_HOST
    )

"""Outages: which services count as failed, and which runs they suspend."""

from typing import Any

import pytest

from agiraph.core.ids import Address
from agiraph.core.models import EntityState, ServiceOutage
from agiraph.messages.child import ChildInfo
from agiraph.readmodel.outages import outage_of_run, outages_of

CAUSE = "exit code 64: providers.yaml:1: is not YAML"
DOWN = {"broker": ServiceOutage(service="broker", faults=6, cause=CAUSE)}


def row(address: str = "broker", state: Any = "backing_off", **more: Any) -> ChildInfo:
    more = {"next_start": 1.0, "cause": CAUSE} | more
    return ChildInfo(address=Address(address), kind="any", state=state, **more)


def entity(name: str, state: Any = "ready", **more: Any) -> ChildInfo:
    return row(f"shop-1/{name}", state, **more)


def busy(step: str) -> EntityState:
    return EntityState(state="busy", step=step)


THINKS = entity("coordinator", doing=busy("thinking"), awaits=("broker",))


@pytest.mark.parametrize(
    ("service", "is_outage"),
    [
        (row(faults=6), True),
        (row(faults=5), False),
        (row(faults=6, state="starting"), True),
        (row(faults=6, state="ready"), False),
        (row("tools/web", faults=6), True),
        (row("shop-1/ada-1", faults=6), False),
    ],
)
def test_service_that_fails_more_often_than_an_entity_may_is_an_outage(
    service: ChildInfo, is_outage: bool
) -> None:
    assert bool(outages_of([service], most_faults=5)) is is_outage


def test_outage_lasts_after_twice_as_many_failures() -> None:
    found = [outages_of([row(faults=n)], 5)["broker"].is_lasting for n in (9, 10)]
    assert found == [False, True]


def test_outage_without_a_tolerated_failure_lasts_at_once() -> None:
    assert outages_of([row(faults=1)], 0)["broker"].is_lasting


def test_outage_names_the_failures_and_the_cause() -> None:
    [found] = outages_of([row(faults=7)], 5).values()
    assert found.text == (
        f"the service 'broker' cannot be kept running (7 failures in a row, the last: {CAUSE})"
    )


@pytest.mark.parametrize(
    ("others", "is_suspended"),
    [
        ((), True),
        ((entity("ada-1", doing=busy("bash: make")),), False),
        (
            (entity("ada-1", doing=busy("thinking"), awaits=("broker",)),),
            True,
        ),
        (
            (
                entity(
                    "ada-1",
                    doing=busy("create_node"),
                    awaits=("shop-1/coordinator",),
                ),
            ),
            True,
        ),
        (
            (entity("ada-1", doing=busy("fetch"), awaits=("tools/web",)),),
            False,
        ),
        ((entity("ada-1", doing=EntityState(state="waiting_for_message", step="wait")),), True),
        ((entity("ada-1", "parked"), entity("bob-1", "stopped")), True),
        ((entity("ada-1", "starting"),), False),
        ((entity("ada-1", "backing_off"),), False),
        ((entity("ada-1", "backing_off", next_start=None),), True),
    ],
)
def test_run_is_suspended_if_no_other_entity_can_continue(
    others: tuple[ChildInfo, ...], is_suspended: bool
) -> None:
    assert (outage_of_run([THINKS, *others], DOWN) is not None) is is_suspended


def test_run_that_does_not_need_the_service_continues() -> None:
    idle = entity("coordinator", doing=EntityState(state="waiting_for_nodes", step="wait"))
    assert outage_of_run([idle], DOWN) is None
    assert outage_of_run([THINKS], {}) is None


def test_outage_with_the_most_failures_is_named() -> None:
    web = ServiceOutage(service="tools/web", faults=9, cause="exit code 1")
    reads = entity("ada-1", doing=busy("web_fetch"), awaits=("tools/web",))
    assert outage_of_run([THINKS, reads], {**DOWN, "tools/web": web}) == web

"""The coordinator's notices about the board, and the triggers that led to them."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from actors.coordinator.board_notifications import BoardNotifications
from actors.coordinator.board_service import BoardService
from agiraph.agent.records import InputReceived, ModelAnswered
from agiraph.agent.transcript import Transcript
from agiraph.board.commands import CreateNode, FailNode
from agiraph.core.clock import SystemClock
from agiraph.core.specs import NodeSpec
from tests.unit.board.board_driver import BoardDriver

SAYS = ModelAnswered(text="It goes on.", ts=0)


def told(transcript: Transcript, *triggers: str) -> InputReceived:
    """Return the notices about failed nodes with these triggers."""
    driver = BoardDriver()
    fresh: list[Any] = []
    for number, trigger in enumerate(triggers):
        driver.do(
            CreateNode(f"c-{number}", NodeSpec(task="x", name=f"node-{number}"), trigger=trigger)
        )
        driver.worker(f"ada-{number}")
        driver.run(f"node-{number}", f"ada-{number}")
        fresh += driver.events(FailNode(f"node-{number}", None, "it went wrong"))
    store = SimpleNamespace(since=lambda seen: fresh, count=len(fresh), forget=lambda seen: None)
    board = SimpleNamespace(board=driver.board, store=store)
    context: Any = SimpleNamespace(transcript=transcript, now=SystemClock().now)
    [heard] = BoardNotifications(cast(BoardService, board), context).take()
    return heard


@pytest.mark.parametrize(
    ("triggers", "expected"), [(("t-1",), "t-1"), (("t-1", "t-1"), "t-1"), (("", ), None),
                            (("t-1", "t-2"), None), (("t-1", ""), None)]
)  # fmt: skip
def test_notice_of_ended_nodes_has_their_common_trigger(
    triggers: tuple[str, ...], expected: str | None
) -> None:
    assert told(Transcript(), *triggers).trigger == expected


def test_idle_coordinator_acts_for_the_trigger_of_the_ended_node() -> None:
    transcript = Transcript.fold(
        [InputReceived(content="Go", from_name="human", ts=0, message="m"), SAYS]
    )
    transcript.apply(told(transcript, "t-1"))
    assert transcript.woken_by == "t-1"
    transcript.apply(InputReceived(content="Now this", from_name="human", ts=0, message="m2"))
    assert transcript.woken_by == ""


def test_busy_coordinator_keeps_acting_for_its_current_cause() -> None:
    transcript = Transcript.fold(
        [InputReceived(content="Go", from_name="human", ts=0, message="m")]
    )
    transcript.apply(told(transcript, "t-1"))
    assert transcript.woken_by == ""

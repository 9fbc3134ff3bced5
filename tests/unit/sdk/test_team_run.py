"""TeamRun: the events that a stream yields."""

from pathlib import Path
from typing import Any

from agiraph.core.ids import AgentId
from agiraph.core.models import Event
from agiraph.http.api import EventView
from agiraph.sdk.events import MessageSent, TextWritten
from agiraph.sdk.task import Task
from agiraph.sdk.team_run import TeamRun


def event(seq: int, type: str, **data: Any) -> EventView:
    return EventView.of(
        Event(type=type, agent_id=AgentId("a-1"), ts=1.0, seq=seq, entity="coordinator", data=data)
    )


def sent(seq: int, id: str, to: str = "human") -> EventView:
    text = {"from": "coordinator", "to": to, "content": "Go on.", "id": id}
    return event(seq, "message.sent", **text)


def test_equal_texts_are_yielded_once_each(tmp_path: Path) -> None:
    run = TeamRun(tmp_path, Task("Survey"), {})
    answer = event(1, "model.answered", text="Go on.", message="m1")
    happened = [answer, sent(2, "m1"), sent(3, "m2"), sent(4, "m3", "ada"), sent(5, "m4", "bob")]
    told = [one for each in happened for one in run._see(each)]
    assert [type(one) for one in told] == [TextWritten, *[MessageSent] * 3]
    assert [one.to_id for one in told if isinstance(one, MessageSent)] == ["human", "ada", "bob"]

"""The record of an external agent: its pending notices, its usage, its lost conversation."""

from agiraph.agent.external_agent import ExternalAgentState
from agiraph.agent.records import ExternalAgentEnded, ExternalAgentStarted, ExternalSessionKnown
from agiraph.core.turns import Usage


def test_warning_alone_does_not_restart_an_external_agent() -> None:
    outside = ExternalAgentState(is_here=True)
    outside.add_message("[ada]: blue")
    outside.add_message("[Runtime]: Come to an end.", warns_of="time")
    assert outside.needs_delivery(0)
    assert not outside.needs_delivery(1)
    assert outside.undelivered == ["[ada]: blue", "[Runtime]: Come to an end."]
    outside.add_message("[ada]: no, green")
    assert outside.needs_delivery(1)
    assert not outside.needs_delivery(3)


def test_usage_of_an_external_session_adds_up_until_a_new_session() -> None:
    outside = ExternalAgentState(is_here=True)
    for number, session in enumerate(("", "s1", "s1", ""), start=1):
        outside.apply(ExternalAgentStarted(number=number, agent="codex", session=session, ts=0))
        seen = outside.usage.input_tokens
        outside.apply(ExternalAgentEnded(number=number, usage=Usage(input_tokens=10), ts=0))
        assert seen == (10 * (number - 1) if session else 0)


def began(number: int, session: str = "") -> ExternalAgentStarted:
    return ExternalAgentStarted(number=number, agent="robot", session=session, ts=1.0)


def outsider() -> ExternalAgentState:
    """Return an agent that was killed in its first start, in which it had a conversation."""
    outside = ExternalAgentState(is_here=True)
    outside.apply(began(1))
    outside.apply(ExternalSessionKnown(session="s1", ts=1.0))
    outside.apply(ExternalAgentEnded(number=1, problem="killed", has_spoken=True, ts=1.0))
    outside.apply(began(2, outside.session))
    return outside


def test_resumed_external_session_is_not_lost() -> None:
    outside = outsider()
    outside.apply(ExternalSessionKnown(session="s2", ts=1.0))  # some continue under another id
    outside.apply(ExternalAgentEnded(number=2, result="done", has_spoken=True, ts=1.0))
    assert (outside.session, outside.lost_at) == ("s2", 0)


def test_new_session_in_place_of_a_resumed_one_marks_it_lost() -> None:
    outside = outsider()
    outside.apply(ExternalSessionKnown(session="s2", is_anew=True, ts=1.0))
    assert (outside.session, outside.lost_at) == ("s2", 2)


def test_failure_before_any_output_marks_the_resumed_session_lost() -> None:
    outside = outsider()
    outside.apply(ExternalAgentEnded(number=2, problem="no such session", ts=1.0))
    assert (outside.session, outside.lost_at) == ("", 2)
    fresh = ExternalAgentState(is_here=True)
    fresh.apply(began(1))
    fresh.apply(ExternalSessionKnown(session="s1", ts=1.0))
    fresh.apply(ExternalAgentEnded(number=1, problem="no network", ts=1.0))
    assert fresh.lost_at == 0, "there was nothing to lose"

"""What is known of an outside agent: what it still has to be told, what it has used."""

from agiraph.agent.outsider import Outsider
from agiraph.agent.records import OutsideBegan, OutsideEnded
from agiraph.turns import Usage


def test_a_warning_is_told_but_nobody_is_started_again_for_it() -> None:
    outside = Outsider(is_here=True)
    outside.hear("[ada]: blue")
    outside.hear("[Runtime]: Come to an end.", warns_of="time")
    assert outside.owes(0)
    assert not outside.owes(1)
    assert outside.untold == ["[ada]: blue", "[Runtime]: Come to an end."]
    outside.hear("[ada]: no, green")
    assert outside.owes(1)
    assert not outside.owes(3)


def test_what_its_conversation_has_used_adds_up_until_a_new_one_begins() -> None:
    outside = Outsider(is_here=True)
    for number, session in enumerate(("", "s1", "s1", ""), start=1):
        outside.apply(OutsideBegan(number=number, agent="codex", session=session, ts=0))
        seen = outside.usage.input_tokens
        outside.apply(OutsideEnded(number=number, usage=Usage(input_tokens=10), ts=0))
        assert seen == (10 * (number - 1) if session else 0)

"""The state of the console: it shows the thread, each entry once, and the text that streams."""

from cli.console.ui.state import ConsoleState
from tests.unit.cli.console.ui.fakes import events, happened, message
from tests.unit.cli.fakes import summary

CALL = "call"


def shown(state: ConsoleState) -> list[tuple[str, tuple[str, ...], str]]:
    state.select("*")
    return [(entry.kind, entry.to, entry.body) for entry in state.shown]


def test_equal_texts_are_shown_once_each() -> None:
    state = ConsoleState(summary())
    first = happened("model.answered", 1, "coordinator", text="Go on.", message="m2")
    sent = message(2, "Go on.", "coordinator", "human")
    twice = [message(seq, "Go on.", "coordinator", name) for seq, name in ((3, "ada"), (4, "bob"))]
    for news in (events(first), events(first, sent), events(first, sent, *twice)):
        news(state)
    assert shown(state) == [
        ("text", ("human",), "Go on."),
        ("text", ("ada",), "Go on."),
        ("text", ("bob",), "Go on."),
    ]


def test_streamed_text_ends_with_the_entry_of_its_call() -> None:
    state = ConsoleState(summary())
    state.stream("coordinator", CALL, "Go on.")
    events(message(1, "Go on.", "coordinator", "human"))(state)
    assert state.streaming == [("coordinator", "Go on.")]
    later = happened("model.answered", 2, "coordinator", text="Go on.", call=CALL)
    events(later)(state)
    assert state.streaming == []


def test_streamed_text_of_an_answer_with_calls_ends_when_a_call_begins() -> None:
    state = ConsoleState(summary())
    state.stream("coordinator", CALL, "")
    events(happened("tool.called", 1, "coordinator", "1", tool="bash"))(state)
    assert state.streaming == []


def test_reason_of_a_failed_run_is_marked() -> None:
    state, why = ConsoleState(summary()), "the model cannot be asked (bad_key): no"
    failed = happened("agent.failed", 2, "coordinator", reason=why)
    events(failed, failed)(state)
    [entry] = state.shown
    assert (entry.kind, entry.title, entry.tone, entry.body) == ("result", "failed", "bad", why)


def test_older_pages_replace_nothing() -> None:
    state = ConsoleState(summary())
    called = happened("tool.called", 1, "ada", "1", tool="bash")
    ended = happened("tool.result", 2, "ada", "1", tool="bash", preview="x")
    events(called, ended)(state)
    events(called, is_older=True)(state)
    state.select("*")
    assert [entry.outcome for entry in state.shown] == ["done"]

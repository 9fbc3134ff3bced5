"""Compaction: the summary and the first turns of a conversation that starts again."""

from agiraph.agent.compaction import (
    CompactedConversation,
    CompactionContext,
    SummarySection,
    shorten,
    shorten_written,
)
from agiraph.agent.records import CallFinished, ModelAnswered
from agiraph.agent.transcript import Transcript
from agiraph.core.turns import AssistantTurn, ToolCall, ToolTurn, Usage, UserTurn
from tests.unit.agent.conversations import anew, are_whole, flushed, heard, worked

TASK = "# Assignment: facts"


def begun() -> Transcript:
    transcript = Transcript()
    heard(transcript, TASK)
    return transcript


def short(transcript: Transcript, budget: int = 2000, summary: str = "") -> CompactedConversation:
    belongings = CompactionContext(
        TASK, (SummarySection("Your files", "- scratch/a.md (3 bytes)"),)
    )
    return shorten(transcript, belongings, intro="Anew.", summary=summary, budget=budget)


def head(shortened: CompactedConversation) -> str:
    first = shortened.turns[0]
    assert isinstance(first, UserTurn)
    return first.content


def test_head_lists_task_human_messages_summary_files_and_past_actions() -> None:
    transcript = begun()
    heard(transcript, "Use metric units.", "human")
    worked(transcript, ("bash", "x" * 9000), text="Let me look", command="ls")
    worked(transcript, ("send_message", "Sent to bob."), to="bob", content="You get it by noon.")
    for n in range(20):
        worked(transcript, ("write_file", f"Written: 3 bytes {'y' * 300}"), path=f"{n}.md")
    text = head(short(transcript, summary="I am half way."))
    order = [
        "# Your task\n\n# Assignment: facts",
        "[Message from human]: Use metric units.",
        "I am half way.",
        "- send_message to=bob, content=You get it by noon.",
        "scratch/a.md",
        "- bash(command=ls) -> xxx",
        "write_file(path=3.md) -> Written",
    ]
    places = [text.find(part) for part in order]
    assert -1 not in places, (order[places.index(-1)], text)
    assert places == sorted(places)


def test_last_turns_are_kept_unchanged() -> None:
    transcript = begun()
    for n in range(30):
        worked(transcript, ("bash", f"{n} {'x' * 200}"), command=f"ls {n}")
    shortened = short(transcript)
    kept = shortened.turns[1:]
    assert 2 <= len(kept) < 60
    assert list(kept) == transcript.turns[-len(kept) :]
    assert are_whole(shortened.turns)


def test_a_last_result_that_is_too_long_is_cut_and_keeps_its_call() -> None:
    transcript = begun()
    worked(transcript, ("bash", "begin" + "x" * 90_000 + "end"), command="cat big")
    _, answer, result = short(transcript).turns
    assert isinstance(answer, AssistantTurn)
    assert isinstance(result, ToolTurn)
    assert result.call_id == answer.tool_calls[0].id
    assert "90008 bytes, cut here" in result.content
    assert result.content.startswith("begin")
    assert result.content.endswith("end")


def test_long_last_result_becomes_text_if_its_call_has_thinking_data() -> None:
    transcript = begun()
    call = ToolCall(id="c1", name="bash", arguments={"command": "cat big"})
    thoughts = {"api": "anthropic", "thinking": [{"type": "thinking", "signature": "s"}]}
    transcript.apply(ModelAnswered(tool_calls=(call,), provider_data=thoughts, ts=0))
    content = "begin" + "x" * 90_000 + "end"
    transcript.apply(CallFinished(call_id="c1", name="bash", content=content, ts=0))
    _, told = short(transcript).turns
    assert isinstance(told, UserTurn)
    assert 'bash {"command": "cat big"}\n[Result of bash]: begin' in told.content
    assert told.content.endswith("end")


def test_newest_human_messages_are_kept_if_there_are_too_many() -> None:
    transcript = begun()
    for n in range(200):
        heard(transcript, f"word {n} {'x' * 100}", "human")
    text = head(short(transcript))
    assert "oldest of these are left out" in text
    assert "word 0 " not in text
    assert "word 187 " in text


def test_memory_writes_appear_in_the_head_and_not_as_turns() -> None:
    transcript = begun()
    worked(transcript, ("bash", "x"), command="ls")
    flushed(transcript, "memory_write")
    heard(transcript, "Hello", "bob")
    shortened = short(transcript)
    assert "memory_write(path=memory/a.md) -> written" in head(shortened)
    assert [turn.role for turn in shortened.turns] == ["user", "assistant", "tool", "user"]


def test_other_tool_call_of_the_saving_turn_is_kept() -> None:
    transcript = begun()
    flushed(transcript, "create_work_node")
    assert isinstance(short(transcript).turns[-1], ToolTurn)


def test_conversation_without_an_open_request_ends_with_a_continue_message() -> None:
    transcript = begun()
    worked(transcript, text="All saved.")
    assert short(transcript).turns[-1] == UserTurn(content="[Runtime]: Continue from here.")


def test_answers_of_the_human_are_kept_with_their_questions() -> None:
    transcript = begun()
    worked(transcript, ("ask_human", "Blue."), question="Which colour?")
    for n in range(20):
        worked(transcript, ("bash", "x" * 900), command=str(n))
    assert "[Your question]: Which colour?\n[The human's answer]: Blue." in head(short(transcript))


def test_second_compaction_keeps_the_head_of_the_first_part() -> None:
    transcript = begun()
    heard(transcript, "Use metric units.", "human")
    for n in range(30):
        worked(transcript, ("write_file", "Written " + "x" * 500), path=f"first-{n}.md")
    once = short(transcript, summary="The first part is done.")
    transcript.apply(anew(once.turns, once.digest, "The first part is done."))
    for n in range(30):
        worked(transcript, ("write_file", "Written " + "x" * 500), path=f"second-{n}.md")
    twice = short(transcript, budget=6000)
    text = head(twice)
    assert text.count("# Your task") == 1, "the first head is not told again"
    for part in ("first-0.md", "first-29.md", "second-0.md", "metric", "The first part is done."):
        assert part in text


def test_compaction_restarts_turns_and_keeps_usage_and_position() -> None:
    transcript = begun()
    worked(transcript, ("bash", "x"), usage=Usage(input_tokens=90), window=1000)
    position = transcript.position
    transcript.apply(anew(short(transcript).turns))
    assert transcript.position == position + 1, "steps are named on, so their ids are new"
    assert transcript.window.tokens == 0
    assert (transcript.usage.input_tokens, transcript.window.size) == (90, 1000)
    assert transcript.window.compactions == transcript.progress.compactions == 1


def test_texts_that_are_in_files_are_shortened_except_in_the_last_turns() -> None:
    transcript = begun()
    for n in range(8):
        text = f"begin {n}{'x' * 1500}end"
        worked(transcript, ("write_file", "Written."), path=f"{n}.md", content=text)
    calls = [
        call.arguments
        for turn in short(transcript, 6000).turns
        if isinstance(turn, AssistantTurn)
        for call in turn.tool_calls
    ]
    assert len(calls) > 5, "unchanged, at most four would fit"
    *older, one, last = calls
    assert all("characters are left out here: read the file" in call["content"] for call in older)
    assert all(call["content"].endswith("end") for call in older)
    assert [call["content"][:7] for call in (one, last)] == ["begin 6", "begin 7"]
    assert len(last["content"]) > 1500


def test_text_of_a_failed_call_and_a_call_with_reasoning_are_kept() -> None:
    failed = AssistantTurn(tool_calls=(write("1"),))
    sealed = AssistantTurn(tool_calls=(write("2"),), provider_data={"thinking": "sealed"})
    done = ToolTurn(call_id="2", name="write_file", content="Written.")
    refused = ToolTurn(call_id="1", name="write_file", content="no", is_error=True)
    groups = [(failed, refused), (sealed, done), (failed, refused), (failed, refused)]
    assert shorten_written(groups) == groups


def write(id: str) -> ToolCall:
    return ToolCall(id=id, name="write_file", arguments={"path": "a.md", "content": "x" * 2000})

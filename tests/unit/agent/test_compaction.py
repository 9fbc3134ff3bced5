"""Compaction: the summary and the first turns of a conversation that starts again."""

from agiraph.agent.compaction import (
    CompactedConversation,
    CompactionContext,
    SummarySection,
    shorten,
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


def test_the_head_tells_task_human_summary_files_and_what_was_done() -> None:
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


def test_the_last_turns_stay_as_they_were() -> None:
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


def test_a_last_result_that_is_too_long_is_told_in_words_where_its_call_has_thoughts() -> None:
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


def test_of_too_many_words_of_the_human_the_newest_are_kept() -> None:
    transcript = begun()
    for n in range(200):
        heard(transcript, f"word {n} {'x' * 100}", "human")
    text = head(short(transcript))
    assert "oldest of these are left out" in text
    assert "word 0 " not in text
    assert "word 187 " in text


def test_what_only_saved_things_is_told_and_not_shown() -> None:
    transcript = begun()
    worked(transcript, ("bash", "x"), command="ls")
    flushed(transcript, "memory_write")
    heard(transcript, "Hello", "bob")
    shortened = short(transcript)
    assert "memory_write(path=memory/a.md) -> written" in head(shortened)
    assert [turn.role for turn in shortened.turns] == ["user", "assistant", "tool", "user"]


def test_an_act_that_was_done_in_the_turn_for_saving_is_shown() -> None:
    transcript = begun()
    flushed(transcript, "create_work_node")
    assert isinstance(short(transcript).turns[-1], ToolTurn)


def test_a_silent_end_is_given_something_to_answer() -> None:
    transcript = begun()
    worked(transcript, text="All saved.")
    assert short(transcript).turns[-1] == UserTurn(content="[Runtime]: Continue from here.")


def test_answers_of_the_human_are_kept_with_their_questions() -> None:
    transcript = begun()
    worked(transcript, ("ask_human", "Blue."), question="Which colour?")
    for n in range(20):
        worked(transcript, ("bash", "x" * 900), command=str(n))
    assert "[Your question]: Which colour?\n[The human's answer]: Blue." in head(short(transcript))


def test_a_second_compaction_still_tells_of_the_first_part() -> None:
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


def test_the_fold_begins_anew_and_keeps_what_it_knows() -> None:
    transcript = begun()
    worked(transcript, ("bash", "x"), usage=Usage(input_tokens=90), window=1000)
    position = transcript.position
    transcript.apply(anew(short(transcript).turns))
    assert transcript.position == position + 1, "steps are named on, so their ids are new"
    assert transcript.window.tokens == 0
    assert (transcript.usage.input_tokens, transcript.window.size) == (90, 1000)
    assert transcript.window.compactions == transcript.progress.compactions == 1

"""A recorded run played again: alike but for names, dates and folders; else it says where."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.errors import InvalidInput
from agiraph.core.turns import (
    ModelRequest,
    ModelResponse,
    ToolCall,
    ToolTurn,
    Turn,
    Usage,
    UserTurn,
)
from agiraph.knowledge.relevant import KnowledgeNote, RelevantKnowledge
from agiraph.llm.base import ProviderError
from agiraph.llm.recording.recording import RecordingWriter, read_recording
from agiraph.llm.recording.replay import ReplayProvider
from agiraph.llm.recording.request_matching import (
    TEAM_TOOLS,
    masked,
    names_in,
    renamed,
    unnumbered,
)
from agiraph.tools.table import tool_names

KEY = "sk-very-secret-value-1234567890"


def asked(
    *turns: Turn, entity: str = "shop-111111/coordinator", run: str = "20261122-084055-abc123"
) -> ModelRequest:
    system = f"Today is 2026-11-22. Your run is {run}. Your workers use `anthropic/x`."
    return ModelRequest(model="anthropic/x", system=system, turns=turns, entity=entity, run_id=run)


def replayed(request: ModelRequest, file: Path) -> ModelRequest:
    """Return the request as a run with the replay as its model makes it."""
    model = f"replay/{file}"
    system = request.system.replace("anthropic/x", model)
    return request.model_copy(update={"model": model, "system": system})


def said(text: str, **arguments: str) -> ModelResponse:
    call = ToolCall(id="c1", name="assign_worker", arguments=arguments)
    usage = Usage(input_tokens=7, cost_usd=0.5)
    return ModelResponse(text=text, tool_calls=(call,), usage=usage)


def tape(*calls: tuple[ModelRequest, ModelResponse], secrets: tuple[str, ...] = ()) -> str:
    scribe = RecordingWriter(secrets)
    return "".join(scribe.line(request, 1.0, response) for request, response in calls)


def play(file: Path, *requests: ModelRequest) -> list[ModelResponse]:
    """Ask a replay of `file`, one request after the other."""

    async def main() -> list[ModelResponse]:
        provider = ReplayProvider()
        return [await provider.generate(replayed(r, file), lambda text: None) for r in requests]

    return asyncio.run(main())


@pytest.fixture(autouse=True)
def _impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recorded first message that does not arrive here is hardly waited for."""
    monkeypatch.setattr("agiraph.llm.recording.replay.PATIENCE_SECONDS", 0.05)


GO = UserTurn(content="Go, node n-aaa111 waits since 08:40:55 in /tmp/one/scratch/x.md")
GO_NOW = UserTurn(content="Go, node n-bbb222 waits since 19:01:02 in /home/me/scratch/x.md")


def test_replayed_answer_uses_the_names_of_this_run(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text(tape((asked(GO), said("n-aaa111 it is", node_id="n-aaa111", model="o/y"))))
    now = asked(GO_NOW, entity="shop-222222/coordinator", run="20270101-000000-def456")
    [response] = play(file, now)
    assert response.text == "n-bbb222 it is"
    assert response.tool_calls[0].arguments == {"node_id": "n-bbb222", "model": f"replay/{file}"}
    assert (response.usage.input_tokens, response.usage.cost_usd) == (7, None)


def test_replay_continues_call_by_call_and_repeats_a_repeated_call(
    tmp_path: Path,
) -> None:
    first = said("one", node_id="n-aaa111")
    second = asked(GO, first.turn(), ToolTurn(call_id="c1", name="assign_worker", content="ok"))
    file = tmp_path / "r.jsonl"
    file.write_text(tape((asked(GO), first), (second, said("two"))))
    assert file.read_text().count("waits since") == 1, "what is known is not written twice"
    now = asked(GO_NOW)
    [one] = play(file, now)
    result = ToolTurn(call_id="other", name="assign_worker", content="ok")
    later = asked(GO_NOW, one.turn(), result)
    assert [r.text for r in play(file, now, now, later, later)] == ["one", "one", "two", "two"]


def test_divergence_names_its_call_and_the_difference(tmp_path: Path) -> None:
    first = said("one")
    second = asked(GO, first.turn(), ToolTurn(call_id="c1", name="bash", content="5 files"))
    file = tmp_path / "r.jsonl"
    file.write_text(tape((asked(GO), first), (second, said("two"))))
    other = ToolTurn(call_id="c1", name="bash", content="6 files")
    [one] = play(file, asked(GO))
    with pytest.raises(ProviderError) as caught:
        play(file, asked(GO), asked(GO, one.turn(), other))
    assert caught.value.kind == "diverged"
    told = str(caught.value)
    assert "at call 2 of shop-111111/coordinator (line 2 of the file)" in told
    assert "turn 3, the result of bash, differs: recorded '5 files', now '6 files'" in told
    third = asked(*second.turns, said("two").turn(), other)
    with pytest.raises(ProviderError, match="call 3 of coordinator: the recording ends before it"):
        play(file, asked(GO), second, third)


def test_team_messages_may_arrive_at_other_times_and_in_another_order(tmp_path: Path) -> None:
    board = [
        '{"node_id": "n-aaa111", "status": "running"},\n{"node_id": "n-aaa222", "status": "done"}',
        '{"node_id": "n-bbb222", "status": "done"},\n{"node_id": "n-bbb111", "status": "running"}',
    ]
    news = [
        UserTurn(content="[Message from ada]: hello"),
        UserTurn(content="[Board]: bob completed node 'x'. Published: nodes/5ec6ab/published/x"),
    ]
    late = UserTurn(content=news[1].content.replace("5ec6ab", "6fd7bc"))
    first = said("look")
    before, after = (ToolTurn(call_id="c1", name="check_board", content=text) for text in board)
    file = tmp_path / "r.jsonl"
    second = asked(GO, first.turn(), before, *news)
    file.write_text(tape((asked(GO), first), (second, said("done", path="nodes/5ec6ab/x"))))
    [one] = play(file, asked(GO_NOW))
    assert one.text == "look"
    again = asked(GO_NOW, late, one.turn(), after, news[0])
    [two] = play(file, again)
    assert two.tool_calls[0].arguments == {"path": "nodes/6fd7bc/x"}
    alone = asked(GO_NOW, one.turn(), after)
    assert [response.text for response in play(file, alone)] == ["done"]
    other = asked(GO_NOW, UserTurn(content="[Message from human]: stop"), one.turn(), after)
    with pytest.raises(ProviderError, match=r"now '.Message from human.: stop'"):
        play(file, other)


def test_notes_of_earlier_work_may_differ_from_the_recording(tmp_path: Path) -> None:
    note = KnowledgeNote(
        id="c-1", kind="mistake", title="It broke", text="First.\n\n# Then", why=""
    )
    notes = RelevantKnowledge(notes=(note, note.model_copy(update={"title": "Again"}))).prompt()
    task = "# Assignment: sums\n\nCount them.\n\n{}## Context\n\nThe team's goal: sums\n"
    recorded = asked(UserTurn(content=task.format(f"{notes}\n\n")))
    file = tmp_path / "r.jsonl"
    file.write_text(tape((recorded, said("counted"))))
    without = asked(UserTurn(content=task.format("")))
    prompt = without.model_copy(update={"system": f"{without.system}\n\n{notes}"})
    assert [one.text for one in play(file, without)] == ["counted"]
    assert [one.text for one in play(file, prompt)] == ["counted"]
    other = asked(UserTurn(content=task.format("").replace("goal: sums", "goal: more")))
    with pytest.raises(ProviderError, match="goal: more"):
        play(file, other)


def test_the_tools_of_the_team_are_tools() -> None:
    assert set(tool_names()) >= TEAM_TOOLS


def test_the_agent_may_have_another_name(tmp_path: Path) -> None:
    task = "# Assignment: x\n\nSell it.\nYour team: {team}\nYou work for {name}."
    file = tmp_path / "r.jsonl"
    was = asked(UserTurn(content=task.format(team="ada, bob", name="shop")))
    file.write_text(tape((was, said("one"))))
    now = task.format(team="bob, ada", name="it")
    [one] = play(file, asked(UserTurn(content=now), entity="it-222222/coordinator"))
    assert one.text == "one"


def test_divergence_ends_the_replay_of_every_entity(tmp_path: Path) -> None:
    ada = asked(UserTurn(content="Write"), entity="shop-111111/ada-aaa111")
    file = tmp_path / "r.jsonl"
    file.write_text(tape((asked(GO), said("one")), (ada, said("two"))))
    other = asked(UserTurn(content="Read"), entity="shop-111111/ada-aaa111")

    async def main() -> list[str]:
        provider, failures = ReplayProvider(), list[str]()
        for request in (other, asked(GO)):
            with pytest.raises(ProviderError) as caught:
                await provider.generate(replayed(request, file), lambda text: None)
            failures.append(str(caught.value))
        return failures

    first, second = asyncio.run(main())
    assert "at call 1 of shop-111111/ada-aaa111" in first
    assert second == first


def test_entities_of_one_name_are_matched_by_their_requests(tmp_path: Path) -> None:
    ada = [asked(UserTurn(content=t), entity=f"s-1/ada-{n}") for t, n in (("a", 111111), ("b", 2))]
    ada[1] = ada[1].model_copy(update={"entity": "s-1/ada-222222"})
    file = tmp_path / "r.jsonl"
    file.write_text(tape((ada[0], said("for a")), (ada[1], said("for b"))))
    now = [one.model_copy(update={"entity": f"s-9/ada-99999{n}"}) for n, one in enumerate(ada)]
    assert [r.text for r in play(file, now[0], now[1])] == ["for a", "for b"]


def test_answers_follow_the_order_of_the_recording(tmp_path: Path) -> None:
    lead, ada = asked(GO), asked(UserTurn(content="Write"), entity="shop-111111/ada-aaa111")
    file = tmp_path / "r.jsonl"
    file.write_text(tape((lead, said("first")), (ada, said("second"))))

    async def main() -> list[str | None]:
        provider, heard = ReplayProvider(), list[str | None]()

        async def one(request: ModelRequest) -> None:
            answer = await provider.generate(replayed(request, file), lambda text: None)
            heard.append(answer.text)

        late = asyncio.create_task(one(ada))
        await asyncio.sleep(0)
        await asyncio.gather(one(lead), late)
        return heard

    assert asyncio.run(main()) == ["first", "second"]


def test_answer_waits_for_calls_that_were_recorded_before_it(tmp_path: Path) -> None:
    lead, ada = asked(GO), asked(UserTurn(content="Write"), entity="shop-111111/ada-aaa111")
    scribe, file = RecordingWriter(), tmp_path / "r.jsonl"
    lines = [
        scribe.line(lead, 2.0, said("first"), asked=0.0),
        scribe.line(ada, 3.0, said("second"), asked=1.0),
    ]
    file.write_text("".join(lines))

    async def main() -> bool:
        provider = ReplayProvider()
        first = asyncio.create_task(provider.generate(replayed(lead, file), lambda text: None))
        for _ in range(20):
            await asyncio.sleep(0)
        was_answered = first.done()
        await provider.generate(replayed(ada, file), lambda text: None)
        assert (await first).text == "first"
        return was_answered

    assert not asyncio.run(main()), "what ada does before is done when she asks"


def test_recording_contains_no_key(tmp_path: Path) -> None:
    told = UserTurn(content=f"The result: {KEY} and hunter-two-secret")
    text = tape((asked(told), said(KEY)), secrets=("hunter-two-secret",))
    assert KEY not in text
    assert "hunter-two-secret" not in text


def test_torn_line_is_skipped_and_another_file_is_not_a_recording(tmp_path: Path) -> None:
    whole = tape((asked(GO), said("one")))
    torn = whole[: len(whole) // 2] + "\n"
    assert len(read_recording([torn, whole], "r")) == 1
    with pytest.raises(InvalidInput, match="no recording of model calls"):
        read_recording(["hello\n"], "r")
    with pytest.raises(ProviderError, match="absolute path"):
        play(Path("r.jsonl"), asked(GO))
    with pytest.raises(ProviderError, match="No such file"):
        play(tmp_path / "none.jsonl", asked(GO))


def test_a_numbered_name_is_the_same_name() -> None:
    entity = "survey-this-folder-c3959b/coordinator"
    assert unnumbered("You are survey-this-folder-12.", entity) == "You are survey-this-folder."
    assert unnumbered("survey-this-folder-c3959b x-2", entity) == "survey-this-folder-c3959b x-2"


@given(st.text(max_size=200))
def test_masking_is_idempotent_and_an_empty_renaming_changes_nothing(text: str) -> None:
    assert masked(masked(text)) == masked(text)
    assert renamed(text, {}) == text
    assert all(name in text for name in names_in(text))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("node 5ec6ab/published", "node 8a1aaa0/published"),
        ("at 2026-11-22T08:40:55Z", "at 2027-01-02T23:59:59.5Z"),
        ("Sun, 22 Nov 2026", "Mon, 3 Feb 2027"),
        ("took 1.25 s", "took 31 s"),
        ("in /tmp/a/b/notes.md", "in /var/c/notes.md"),
        ("-rw-r--r-- 1 root root 5 Nov 22 08:40 a", "-rw-r--r-- 1 root root 5 Dec  1 10:01 a"),
        ("1763800000.25", "1800000000"),
    ],
)
def test_values_that_differ_between_runs_are_masked(one: str, other: str) -> None:
    assert masked(one) == masked(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("5 files", "6 files"), ("/tmp/a/x.md", "/tmp/a/y.md"), ("decade", "facade"), ("a", "b")],
)
def test_other_values_are_not_masked(one: str, other: str) -> None:
    assert masked(one) != masked(other)

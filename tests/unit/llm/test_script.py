"""The playbook engine: which step is next follows from the conversation alone."""

import asyncio
import re
from pathlib import Path

import pytest

from agiraph.core.turns import AssistantTurn, ModelRequest, ModelResponse, ToolTurn, Turn, UserTurn
from agiraph.llm.base import ProviderError
from agiraph.llm.embedded.script import ScriptProvider

LEAD = "You are atlas, the coordinator of a team."
ADA = "You are ada, a digger.\n\nYou like earth."


class PlaybookConversation:
    """One conversation with one playbook."""

    def __init__(self, folder: Path, playbook: str, system: str = LEAD, name: str = "play") -> None:
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.yaml").write_text("about: a test\n" + playbook)
        self.provider = ScriptProvider(folder)
        self.system = system
        self.model = f"script/{name}"
        self.turns: list[Turn] = [UserTurn(content="# Goal\n\nDig.\n\nThe input folder is mounted")]
        self.streamed = ""

    def ask(self) -> ModelResponse:
        """Return the script's next answer, and keep nothing of it."""

        def hear(text: str) -> None:
            self.streamed += text

        request = ModelRequest(
            model=self.model, system=self.system, turns=tuple(self.turns), entity="a/x", run_id="r"
        )
        return asyncio.run(self.provider.generate(request, hear))

    def step(self, *results: str, is_error: bool = False) -> ModelResponse:
        """Request an answer, and append it and its results to the conversation."""
        response = self.ask()
        self.turns.append(response.turn())
        for at, call in enumerate(response.tool_calls):
            content = results[at] if at < len(results) else "fine"
            self.turns.append(
                ToolTurn(call_id=call.id, name=call.name, content=content, is_error=is_error)
            )
        return response

    def hear(self, text: str) -> None:
        self.turns.append(UserTurn(content=text))


def said(response: ModelResponse) -> list[tuple[str, object]]:
    return [(call.name, call.arguments) for call in response.tool_calls]


TWO_STEPS = """
roles:
  coordinator:
    steps:
      - id: one
        say: "I begin with: {{ goal }}"
        calls: [{tool: bash, arguments: {command: "echo {{ goal | quoted }}"}}]
      - id: two
        calls: [{tool: write_file, arguments: {path: a.md, content: "got {{ did.one[0].text }}"}}]
"""


def test_steps_run_in_order_and_see_earlier_results(tmp_path: Path) -> None:
    conversation = PlaybookConversation(tmp_path, TWO_STEPS)
    first = conversation.step("earth")
    assert (first.text, said(first)) == (
        "I begin with: Dig.",
        [("bash", {"command": "echo Dig."})],
    )
    assert said(conversation.step()) == [("write_file", {"path": "a.md", "content": "got earth"})]
    assert conversation.step().tool_calls == ()
    assert conversation.streamed.startswith("I begin with: Dig.")


def test_the_same_question_gets_the_same_answer_with_the_same_ids(tmp_path: Path) -> None:
    conversation = PlaybookConversation(tmp_path, TWO_STEPS)
    assert conversation.ask() == conversation.ask()
    ids = {conversation.step().tool_calls[0].id, conversation.step().tool_calls[0].id}
    assert len(ids) == 2
    assert all(len(one) <= 40 for one in ids)


def test_two_entities_never_share_a_call_id(tmp_path: Path) -> None:
    conversation = PlaybookConversation(tmp_path, TWO_STEPS)
    request = ModelRequest(
        model="script/play", system=LEAD, turns=tuple(conversation.turns), entity="a/y"
    )
    other = asyncio.run(conversation.provider.generate(request, lambda text: None))
    assert other.tool_calls[0].id != conversation.ask().tool_calls[0].id


def test_interrupted_answer_is_repeated(tmp_path: Path) -> None:
    conversation = PlaybookConversation(tmp_path, TWO_STEPS)
    conversation.turns.append(AssistantTurn(text="I beg", interrupted=True))
    assert conversation.ask().tool_calls[0].name == "bash"


def test_messages_and_notices_in_between_change_nothing(tmp_path: Path) -> None:
    conversation = PlaybookConversation(tmp_path, TWO_STEPS)
    conversation.step()
    conversation.hear("[Board]: node x has ended")
    conversation.hear("[Message from ben]: hello")
    assert conversation.step().tool_calls[0].name == "write_file"


LOOP = """
roles:
  coordinator:
    steps:
      - id: watch
        calls: [{tool: wait}]
        until: "ok and did.watch[0].json.left == 0"
        at_most: 3
      - id: last
        calls: [{tool: finish, arguments: {summary: "{{ did.watch[0].text }}"}}]
"""


def test_step_is_repeated_until_its_condition_is_true(tmp_path: Path) -> None:
    conversation = PlaybookConversation(tmp_path, LOOP)
    assert conversation.step('{"left": 1}').tool_calls[0].name == "wait"
    assert conversation.step('{"left": 0}').tool_calls[0].name == "wait"
    assert said(conversation.ask()) == [("finish", {"summary": '{"left": 0}'})]


def test_a_failed_call_is_made_again_but_not_for_ever(tmp_path: Path) -> None:
    conversation = PlaybookConversation(tmp_path, LOOP)
    names = [conversation.step("[interrupted]", is_error=True).tool_calls[0].name for _ in range(4)]
    assert names == ["wait", "wait", "wait", "finish"]


CHOICES = """
roles:
  coordinator:
    let:
      people: "= ['ada', 'ben']"
    steps:
      - id: hire
        calls:
          - {tool: spawn_worker, each: people, arguments: {name: "{{ item }}"}}
      - id: none
        calls: [{tool: spawn_worker, each: "[]"}]
      - id: never
        when: "'nobody' in people"
        calls: [{tool: bash}]
      - id: data
        calls:
          - tool: create_work_node
            arguments:
              task: dig
              dependencies: "= people | map('upper') | list"
              refs: 'json: {"{{ people[0] }}": 1}'
"""


def test_step_makes_a_call_per_item_and_unsuitable_steps_are_skipped(tmp_path: Path) -> None:
    conversation = PlaybookConversation(tmp_path, CHOICES)
    assert [call.arguments for call in conversation.step().tool_calls] == [
        {"name": "ada"},
        {"name": "ben"},
    ]
    assert said(conversation.step()) == [
        (
            "create_work_node",
            {"task": "dig", "dependencies": ["ADA", "BEN"], "refs": {"ada": 1}},
        )
    ]


WORKERS = """
replies: {human: "I am {{ me }} at {{ step }}: {{ message.text }}"}
roles:
  digger:
    steps:
      - id: dig
        calls: [{tool: bash, arguments: {command: "dig {{ assignment.name }}"}}]
      - id: publish
        calls:
          - tool: publish
            arguments: {summary: "= assignment.refs | map('last') | join(' ')"}
  worker:
    steps:
      - {id: idle, say: "{{ role }} does nothing"}
"""
GIVEN = "# Assignment: {}\n\nDig.\n\n## References\n\n- up: nodes/up-w-1/published\n- a: b\n"


def test_script_of_a_worker_restarts_at_its_last_assignment(tmp_path: Path) -> None:
    conversation = PlaybookConversation(tmp_path, WORKERS, ADA)
    conversation.turns = [UserTurn(content=GIVEN.format("garden"))]
    assert said(conversation.step()) == [("bash", {"command": "dig garden"})]
    assert said(conversation.step()) == [("publish", {"summary": "nodes/up-w-1/published"})]
    conversation.hear(GIVEN.format("cellar"))
    assert said(conversation.step()) == [("bash", {"command": "dig cellar"})]


def test_an_unknown_role_plays_any_worker(tmp_path: Path) -> None:
    conversation = PlaybookConversation(tmp_path, WORKERS, "You are eve, an art critic.")
    conversation.turns = [UserTurn(content=GIVEN.format("x"))]
    assert conversation.step().text == "art critic does nothing"
    assert "script ends" in (conversation.step().text or "")


def test_message_of_the_human_is_answered_once_and_the_script_continues(tmp_path: Path) -> None:
    conversation = PlaybookConversation(tmp_path, WORKERS, ADA)
    conversation.turns = [UserTurn(content=GIVEN.format("garden"))]
    conversation.step()
    conversation.hear("[Message from human]: how far?")
    conversation.hear("[Message from ben]: and you?")
    assert said(conversation.step()) == [
        ("send_message", {"to": "human", "content": "I am ada at dig: how far?"})
    ]
    assert conversation.step().tool_calls[0].name == "publish"


def test_message_of_the_human_read_by_a_tool_is_answered(tmp_path: Path) -> None:
    conversation = PlaybookConversation(
        tmp_path, WORKERS.replace("tool: bash", "tool: check_messages"), ADA
    )
    conversation.turns = [UserTurn(content=GIVEN.format("garden"))]
    conversation.step("[Message from ben]: no\n\n[Message from human]: stop?\nplease")
    assert said(conversation.step()) == [
        ("send_message", {"to": "human", "content": "I am ada at dig: stop?\nplease"})
    ]
    assert conversation.step().tool_calls[0].name == "publish"


def test_result_text_is_not_expanded_as_a_template(tmp_path: Path) -> None:
    conversation = PlaybookConversation(tmp_path, TWO_STEPS)
    conversation.step("{{ 7 * 7 }}")
    assert conversation.step().tool_calls[0].arguments["content"] == "got {{ 7 * 7 }}"


def test_no_tokens_are_counted_and_nothing_is_paid(tmp_path: Path) -> None:
    usage = PlaybookConversation(tmp_path, TWO_STEPS).ask().usage
    assert (usage.tokens, usage.cost_usd) == (0, 0)


def refused(conversation: PlaybookConversation) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        conversation.ask()
    return caught.value


def test_an_unknown_playbook_is_refused_with_the_known(tmp_path: Path) -> None:
    conversation = PlaybookConversation(tmp_path, TWO_STEPS)
    for name in ("digging", "../play", ""):
        conversation.model = f"script/{name}"
        error = refused(conversation)
        assert error.kind == "unknown_model"
        assert "known: script/play" in str(error)


@pytest.mark.parametrize(
    ("playbook", "reason"),
    [
        ("roles: {digger: {steps: []}}", "no role for a coordinator .it has: digger"),
        ("roles: [", "cannot be read"),
        ("roles: {coordinator: {steps: [{id: Bad-Id}]}}", "roles.coordinator.steps.0.id"),
        ("roles: {coordinator: {steps: [{id: reply, say: x}]}}", "taken: reply"),
        ("roles: {coordinator: {steps: [{id: a, say: '{{ nope }}'}]}}", "'nope' is undefined"),
        ("roles: {coordinator: {steps: [{id: a, when: 'nope.x'}]}}", "'nope' is undefined"),
        ("roles: {coordinator: {steps: [{id: a, say: '{{ 1 +'}]}}", "playbook play"),
        (
            "roles: {coordinator: {steps: [{id: a, say: \"{{ source('../x') }}\"}]}}",
            "no file '../x'",
        ),
        (
            "roles: {coordinator: {steps: [{id: a, say: '{{ did.__class__.__mro__ }}'}]}}",
            "playbook play",
        ),
    ],
)
def test_a_faulty_playbook_is_refused_with_its_place(
    tmp_path: Path, playbook: str, reason: str
) -> None:
    error = refused(PlaybookConversation(tmp_path, playbook))
    assert error.kind == "bad_request"
    assert not error.is_retryable
    assert re.search(reason, str(error)), str(error)


async def test_thinking_can_be_cancelled(tmp_path: Path) -> None:
    conversation = PlaybookConversation(
        tmp_path, "roles: {coordinator: {steps: [{id: a, say: x, think_seconds: 86400}]}}"
    )

    request = ModelRequest(model="script/play", system=LEAD, turns=tuple(conversation.turns))
    task = asyncio.ensure_future(conversation.provider.generate(request, lambda text: None))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

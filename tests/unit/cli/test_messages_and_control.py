"""Commands that act: send, respond, pause, resume, stop, restart, kill."""

import pytest

from tests.unit.cli.fakes import AGENT, FakeClient, command, json_of, question


def test_message_is_sent_to_the_coordinator_by_default() -> None:
    client = FakeClient()
    result = command(client, "send", "survey", "How far are you?")
    assert result.stdout == "sent to coordinator\n"
    assert client.did == [("send", "How far are you?", None, "steer")]


def test_attached_file_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.commands.talk.MOST_ATTACHED", 100)
    client = FakeClient()
    result = command(client, "send", "survey", "x", "--attach", "/dev/zero")
    assert (result.exit_code, client.did) == (2, [])
    assert "more than 100 bytes" in result.stderr


def test_send_to_a_worker_with_a_mode_and_text_from_stdin() -> None:
    client = FakeClient()
    args = ("send", "survey", "-", "--to", "alice", "--mode", "interrupt", "--json")
    sent = json_of(command(client, *args, stdin="stop\nnow\n"))
    assert sent["to"] == ["alice"]
    assert client.did == [("send", "stop\nnow", "alice", "interrupt")]


@pytest.mark.parametrize(
    "args",
    [
        ("send", "survey", "  "),
        ("send", "survey"),
        ("send", "survey", "x", "--mode", "shout"),
        ("respond", "q-1", ""),
        ("stop",),
        ("events", "survey", "--after", "-1"),
    ],
)
def test_wrong_usage_is_exit_2_and_does_nothing(args: tuple[str, ...]) -> None:
    client = FakeClient(asked=[question()])
    result = command(client, *args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert client.did == []


def test_respond_answers_a_question() -> None:
    client = FakeClient(asked=[question(), question("q-2")])
    assert "alice" in command(client, "respond", "q-1", "Use SQLite").stdout
    answered = json_of(command(client, "respond", "q-2", "2026", "--json"))
    assert (answered["status"], answered["answer"]) == ("answered", "2026"), "no option to choose"
    assert client.did == [("answer", "q-1", "Use SQLite"), ("answer", "q-2", "2026")]


@pytest.mark.parametrize(
    ("args", "code", "expected"),
    [
        (("respond", "q-1", "again"), 1, "answered before by anna"),
        (("respond", "q-9", "yes"), 2, "unknown question 'q-9'"),
        (("kill", "nobody"), 2, "unknown entity 'nobody' (known: broker)"),
    ],
)
def test_a_refusal_of_the_gateway_is_exit_1_and_an_unknown_name_exit_2(
    args: tuple[str, ...], code: int, expected: str
) -> None:
    result = command(FakeClient(asked=[question(status="answered")]), *args)
    assert result.exit_code == code
    assert expected in result.stderr


@pytest.mark.parametrize("act", ["pause", "resume", "stop", "restart", "kill"])
def test_control_command_acts_on_an_entity(act: str) -> None:
    client = FakeClient()
    rows = json_of(command(client, act, f"{AGENT}/alice-aaaaaa", "--json"))
    assert client.did == [(act, f"{AGENT}/alice-aaaaaa")]
    assert rows == [{"address": f"{AGENT}/coordinator", "state": "stopped"}]
    assert "coordinator" in command(client, act, "survey").stdout


def test_predefined_answer_is_selected_by_its_number() -> None:
    client = FakeClient(asked=[question(options=("PostgreSQL", "SQLite"))])
    assert "[1: PostgreSQL, 2: SQLite]" in command(client, "questions").stdout
    wrong = command(client, "respond", "q-1", "3")
    assert (wrong.exit_code, client.did) == (2, [])
    assert "(1: PostgreSQL, 2: SQLite)" in wrong.stderr
    command(client, "respond", "q-1", "2")
    assert client.did == [("answer", "q-1", "SQLite")]


def test_every_line_of_a_command_is_visible_in_the_list_of_questions() -> None:
    asked = "May I run this command? askme ok  # then, harmless:\nEVILRUN --now"
    shown = command(FakeClient(asked=[question(question=asked)]), "questions").stdout
    assert "askme ok # then, harmless: ⏎ EVILRUN --now" in shown


def test_question_is_shown_by_a_prefix_of_its_id() -> None:
    long = f"q-3f9c1d0a{'0' * 24}"
    client = FakeClient(asked=[question(long, options=("PostgreSQL", "SQLite"))])
    shown = command(client, "questions").stdout
    assert "q-3f9c1d0a " in shown
    assert long not in shown
    command(client, "respond", "q-3f9c", "2")
    assert client.did == [("answer", "q-3f9c", "SQLite")]


def test_a_denial_may_have_a_reason() -> None:
    client = FakeClient(asked=[question(options=("allow once", "allow always", "deny"))])
    command(client, "respond", "q-1", "3", "--reason", "not now")
    assert client.did == [("answer", "q-1", "deny: not now")]


def test_a_reply_names_its_message_by_number_or_id() -> None:
    client = FakeClient()
    command(client, "send", "survey", "Yes", "--reply-to", "1")
    command(client, "send", "survey", "Yes", "--reply-to", "3fa9c1d2")
    assert [did[-1] for did in client.did] == ["m1", "3fa9c1d2"]
    assert command(client, "send", "survey", "Yes", "--reply-to", "7").exit_code == 2


def test_nudge_is_sent_to_the_coordinator() -> None:
    client = FakeClient()
    assert command(client, "nudge", "survey", "Shorter!").stdout == "sent to coordinator\n"
    assert client.did == [("nudge", "Shorter!")]

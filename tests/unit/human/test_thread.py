"""The person's thread: every message once, in order, by agent, through restarts."""

from pathlib import Path

from actors.human.thread import Thread


def add(thread: Thread, id: str, agent: str = "a-1", content: str = "x") -> bool:
    return thread.add(id=id, agent=agent, sender="Ada", to="human", content=content, ts=1.0)


def test_a_message_is_written_once_even_after_a_restart(tmp_path: Path) -> None:
    thread = Thread(tmp_path / "inbox.jsonl")
    assert add(thread, "1")
    assert not add(thread, "1")
    thread.close()
    thread = Thread(tmp_path / "inbox.jsonl")
    assert not add(thread, "1")
    assert "1" in thread
    assert add(thread, "2")
    assert [message.seq for message in thread.page("a-1", 0, 10).messages] == [1, 2]
    thread.close()


def test_pages_hold_one_agents_messages_and_their_cursors_are_lines(tmp_path: Path) -> None:
    thread = Thread(tmp_path / "inbox.jsonl")
    for number in range(6):
        add(thread, str(number), agent="even" if number % 2 == 0 else "odd")
    page = thread.page("odd", 0, 2)
    assert [message.id for message in page.messages] == ["1", "3"]
    assert [message.id for message in thread.page("odd", page.next, 2).messages] == ["5"]
    assert thread.page("odd", 6, 2).next == 6
    assert thread.page("nobody", 0, 2).messages == ()
    thread.close()

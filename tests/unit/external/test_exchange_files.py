"""The files of an outside agent: ours are written whole, its own are never followed."""

import os
from pathlib import Path

from agiraph.external.exchange_files import (
    CHECKPOINT,
    INBOX,
    OUTBOX,
    RESULT,
    TASK,
    ExchangeFolder,
    failure_in,
    is_shown_in,
)


def test_a_nodes_work_begins_with_an_empty_outbox_and_no_result(tmp_path: Path) -> None:
    exchange = ExchangeFolder(tmp_path)
    for name in (RESULT, OUTBOX, CHECKPOINT):
        (tmp_path / name).write_text("of an earlier attempt")
    exchange.reset()
    assert exchange.text(RESULT) == exchange.text(OUTBOX) == ""
    assert exchange.text(CHECKPOINT) == "of an earlier attempt"


def test_a_link_is_neither_read_nor_written_through(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    folder = tmp_path / "scratch"
    folder.mkdir()
    for name in (RESULT, INBOX):
        (folder / name).symlink_to(secret)
    exchange = ExchangeFolder(folder)
    assert exchange.read(RESULT) is None
    exchange.write_inbox(["[ada]: hello"])
    assert secret.read_text() == "secret"
    assert (folder / INBOX).read_text() == "[ada]: hello\n\n---\n\n"


def test_what_cannot_be_a_file_of_ours_is_laid_aside_or_passed_over(tmp_path: Path) -> None:
    exchange = ExchangeFolder(tmp_path)
    (tmp_path / INBOX).mkdir()
    (tmp_path / RESULT).mkdir()
    os.mkfifo(tmp_path / OUTBOX)
    exchange.write_inbox(["x"])
    assert exchange.read(RESULT) is None
    assert exchange.read(OUTBOX) is None
    exchange.reset()
    assert exchange.text(OUTBOX) == ""


def test_all_but_the_result_is_laid_beside_what_is_published(tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    exchange = ExchangeFolder(folder)
    exchange.write(TASK, "do it\n")
    exchange.write(RESULT, "done\n")
    assert not exchange.has_work()
    (folder / "tool.py").write_text("")
    assert exchange.has_work()
    exchange.move_beside(tmp_path)
    exchange.move_beside(tmp_path)
    assert sorted(os.listdir(folder)) == [RESULT, "tool.py"]
    assert (tmp_path / TASK).read_text() == "do it\n"


def test_what_an_agent_keeps_for_itself_is_no_work(tmp_path: Path) -> None:
    exchange = ExchangeFolder(tmp_path)
    kept = (".git", ".aider*")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("")
    (tmp_path / ".aider.chat.history.md").write_text("")
    (tmp_path / "empty").mkdir()
    assert not exchange.has_work(kept)
    (tmp_path / "empty/tool.py").write_text("")
    assert exchange.has_work(kept)


def test_after_a_refusal_its_own_files_stand_there_again_and_a_result_has_to_be_written(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    exchange = ExchangeFolder(folder)
    for name in (OUTBOX, CHECKPOINT, RESULT):
        exchange.write(name, name)
    exchange.move_beside(tmp_path)
    exchange.move_back(tmp_path)
    exchange.move_back(tmp_path)
    assert (exchange.text(OUTBOX), exchange.text(CHECKPOINT)) == (OUTBOX, CHECKPOINT)
    assert exchange.read(RESULT) is None


def test_a_result_may_say_that_it_is_none() -> None:
    assert failure_in("FAILED: no network\nTried twice.") == "no network\nTried twice."
    assert failure_in("failed:") == "it gave no reason"
    assert failure_in("The tests FAILED: at first, then passed") == ""


def test_a_message_was_shown_if_each_of_its_lines_stands_in_the_output() -> None:
    shown = "[ada]: use blue\n\n  and no green"
    assert is_shown_in(shown, f"[bob]: hello\n\n---\n\n{shown}\n\n---\n")
    assert is_shown_in(shown, "1\t[ada]: use blue\n2\t\n3\t  and no green\n"), "numbered"
    assert not is_shown_in(shown, "[ada]: use blue\n[... 3 lines left out]"), "cut off"
    assert not is_shown_in(shown, "")
    assert not is_shown_in(" \n", "anything")
    assert not is_shown_in(shown, shown + "x" * 9000), "agents shorten what is long"

"""The exchange files: ours are written whole, links of the agent's are never followed."""

import os
from pathlib import Path

import pytest

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


@pytest.fixture
def exchange(tmp_path: Path) -> ExchangeFolder:
    (tmp_path / "scratch").mkdir()
    return ExchangeFolder(tmp_path / "scratch")


def test_node_starts_with_an_empty_outbox_and_no_result(exchange: ExchangeFolder) -> None:
    for name in (RESULT, OUTBOX, CHECKPOINT):
        (exchange.folder / name).write_text("of an earlier attempt")
    exchange.reset()
    assert exchange.text(RESULT) == exchange.text(OUTBOX) == ""
    assert exchange.text(CHECKPOINT) == "of an earlier attempt"


def test_a_link_is_neither_read_nor_written_through(exchange: ExchangeFolder) -> None:
    secret = exchange.folder.parent / "secret"
    secret.write_text("secret")
    for name in (RESULT, INBOX):
        (exchange.folder / name).symlink_to(secret)
    assert exchange.read(RESULT) is None
    exchange.write_inbox(["[ada]: hello"])
    assert secret.read_text() == "secret"
    assert (exchange.folder / INBOX).read_text() == "[ada]: hello\n\n---\n\n"


def test_irregular_file_is_replaced_or_skipped(exchange: ExchangeFolder) -> None:
    for name in (INBOX, RESULT):
        (exchange.folder / name).mkdir()
    os.mkfifo(exchange.folder / OUTBOX)
    exchange.write_inbox(["x"])
    assert exchange.read(RESULT) is None
    assert exchange.read(OUTBOX) is None
    exchange.reset()
    assert exchange.text(OUTBOX) == ""


def test_all_files_but_the_result_are_moved_out_of_the_published_folder(
    exchange: ExchangeFolder,
) -> None:
    node = exchange.folder.parent
    exchange.write(TASK, "do it\n")
    exchange.write(RESULT, "done\n")
    assert not exchange.has_work()
    (exchange.folder / "tool.py").write_text("")
    assert exchange.has_work()
    exchange.move_beside(node)
    exchange.move_beside(node)
    assert sorted(os.listdir(exchange.folder)) == [RESULT, "tool.py"]
    assert (node / TASK).read_text() == "do it\n"


def test_private_files_of_an_agent_are_not_work(exchange: ExchangeFolder) -> None:
    kept = (".git", ".aider*")
    for name in (".git", "empty"):
        (exchange.folder / name).mkdir()
    (exchange.folder / ".git/HEAD").write_text("")
    (exchange.folder / ".aider.chat.history.md").write_text("")
    assert not exchange.has_work(kept)
    (exchange.folder / "empty/tool.py").write_text("")
    assert exchange.has_work(kept)


def test_refused_result_restores_exchange_files_and_requires_a_new_result(
    exchange: ExchangeFolder,
) -> None:
    node = exchange.folder.parent
    for name in (OUTBOX, CHECKPOINT, RESULT):
        exchange.write(name, name)
    exchange.move_beside(node)
    exchange.move_back(node)
    exchange.move_back(node)
    assert (exchange.text(OUTBOX), exchange.text(CHECKPOINT)) == (OUTBOX, CHECKPOINT)
    assert exchange.read(RESULT) is None


def test_a_result_may_report_a_failure() -> None:
    assert failure_in("FAILED: no network\nTried twice.") == "no network\nTried twice."
    assert failure_in("failed:") == "it gave no reason"
    assert failure_in("The tests FAILED: at first, then passed") == ""


MESSAGE = "[ada]: use blue\n\n  and no green"


@pytest.mark.parametrize(
    ("output", "is_shown"),
    [
        (f"[bob]: hello\n\n---\n\n{MESSAGE}\n\n---\n", True),
        ("1\t[ada]: use blue\n2\t\n3\t  and no green\n", True),
        ("[ada]: use blue\n[... 3 lines left out]", False),
        ("", False),
        (MESSAGE + "x" * 9000, False),  # agents shorten long texts
    ],
)
def test_a_message_was_shown_if_each_of_its_lines_is_in_the_output(
    output: str, is_shown: bool
) -> None:
    assert is_shown_in(MESSAGE, output) == is_shown
    assert not is_shown_in(" \n", output)

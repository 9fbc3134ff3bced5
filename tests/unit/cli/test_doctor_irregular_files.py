"""`agiraph doctor` names each file of a home that is no regular file of its user."""

from pathlib import Path

import pytest

from agiraph.storage.home import Home
from agiraph.storage.walk import UnsafeFile
from cli.doctor_checks.check import DoctorContext
from cli.doctor_checks.damage import check_records
from cli.doctor_checks.home import check_files
from tests.fakes.irregular_files import SPARSE, STRANGE, UNREADABLE

OF_SERVICES = (
    *("system/lock", "system/token", "system/children.journal", "system/mailboxes.db"),
    *("system/usage.db", "system/doors.json", "system/hosts.json", "system/tracing.json"),
    *("system/uplink.key", "human/book.db", "system/format"),
    *("human/repeats.jsonl", "human/channels.jsonl", "human/tokens.json"),
    *("human/answer.key", "human/audit.jsonl", "knowledge.db", "system/logs/supervisor.log"),
)
OF_AGENTS = (
    *("agent.json", "conversation.jsonl", "events.jsonl", "triggers.json", "MEMORY.md", "SOUL.md"),
    *("GOAL.md", "runs/r1/journal.jsonl", "runs/r1/_output.md", "runs/r1/_plan.md"),
)
FILES = (*OF_SERVICES, *(f"agents/survey-1/{name}" for name in OF_AGENTS))
KINDS = {**UNREADABLE, **STRANGE}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FILES)
def test_doctor_names_a_file_that_cannot_be_opened(tmp_path: Path, name: str, kind: str) -> None:
    context = DoctorContext(Home(tmp_path), {})
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    assert check_files(context).status == "ok"
    KINDS[kind](path)
    check = check_files(context)
    assert check.status == "fail"
    assert check.detail.startswith(f"{path} ")
    assert check.advice


@pytest.mark.parametrize("name", FILES)
def test_doctor_names_a_file_with_hard_links(tmp_path: Path, name: str) -> None:
    home = tmp_path / "home"
    path = home / name
    path.parent.mkdir(parents=True)
    path.touch()
    assert check_files(DoctorContext(Home(home), {})).status == "ok"
    (tmp_path / "backup").hardlink_to(path)
    check = check_files(DoctorContext(Home(home), {}))
    assert (check.status, "cp -p FILE" in str(check.advice)) == ("fail", True)
    assert check.detail.startswith(f"{path} has 2 names (hard links)")


@pytest.mark.parametrize("name", ["agent.json", "triggers.json"])
def test_doctor_names_a_record_that_is_too_large_to_be_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / "agents" / "survey-1" / name
    path.parent.mkdir(parents=True)
    SPARSE["sparse"](path)
    check = check_files(DoctorContext(Home(tmp_path), {}))
    assert (check.status, str(path) in check.detail) == ("fail", True)


DEEP = {"brackets": b"[" * 200_000, "lists": b"[" * 900 + b"]" * 900, "text": b"\xff{"}
PARSED = (
    *("system/children.journal", "system/doors.json", "system/hosts.json", "system/tracing.json"),
    *("system/uplink.key", "human/channels.jsonl", "human/repeats.jsonl", "human/tokens.json"),
    *(f"agents/survey-1/{name}" for name in OF_AGENTS[:4]),
)


@pytest.mark.parametrize("line", DEEP)
@pytest.mark.parametrize("name", PARSED)
def test_doctor_names_a_file_with_a_line_that_cannot_be_parsed(
    tmp_path: Path, name: str, line: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_bytes(DEEP[line] + b"\n")
    check = check_records(DoctorContext(Home(tmp_path), {}))
    assert (check.status, str(path) in check.detail) == ("fail", True)


def test_irregular_file_is_reported_with_advice() -> None:
    error = UnsafeFile(21, "is a folder where a file belongs", "/home/token")
    assert error.with_advice() == (
        "/home/token is a folder where a file belongs: restore the file from a backup, or move it"
        " away to start without it"
    )

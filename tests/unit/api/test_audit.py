"""The audit's files: bounded in number and size, and the content of a line."""

import json
from pathlib import Path

import pytest

from agiraph.api.auth.audit import AuditFile, AuditLog
from agiraph.api.auth.credential_store import CredentialStore
from agiraph.api.auth.credentials import Principal
from agiraph.http.api import ApiError, CreateTokenRequest
from agiraph.messages.host import HostRefused
from agiraph.storage.home import Home
from tests.fakes.fake_runtime import SilentLog
from tests.unit.api.manual_clock import ManualClock


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_files_are_bounded_and_the_newest_lines_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "human" / "audit.jsonl"
    file = AuditFile(path, 200, 3)
    for number in range(100):
        file.write({"number": number})
    file.close()
    names = sorted(found.name for found in path.parent.iterdir())
    assert names == ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"]
    assert all(found.stat().st_size <= 200 for found in path.parent.iterdir())
    kept = [line["number"] for name in reversed(names) for line in lines(path.parent / name)]
    assert kept == list(range(100 - len(kept), 100))


def test_single_file_is_restarted_when_full_and_continued_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for number in range(20):
        file = AuditFile(path, 50, 1)
        file.write({"number": number})
        file.close()
    assert [found.name for found in tmp_path.iterdir()] == ["audit.jsonl"]
    assert lines(path)[-1] == {"number": 19}
    assert path.stat().st_size <= 50


def test_removed_file_is_created_again(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    file = AuditFile(path, 1000, 2)
    file.write({"number": 1})
    path.unlink()
    file.write({"number": 2})
    file.close()
    assert lines(path) == [{"number": 2}]


def test_a_link_in_its_place_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="audit"):
        AuditFile(tmp_path / "audit.jsonl", 100, 1).write({})
    assert not (tmp_path / "elsewhere").exists()


class AuditHome:
    """A ledger on a home of its own."""

    def __init__(self, path: Path) -> None:
        self.home = Home(path)
        self.clock = ManualClock()
        self.log = SilentLog()
        self.keys = CredentialStore(self.home, self.clock, self.log)
        file = AuditFile(self.home.human.audit, 10_000, 2)
        self.ledger = AuditLog(file, self.keys, self.clock, self.log)

    def lines(self) -> list[dict[str, object]]:
        return lines(self.home.human.audit)


@pytest.fixture
def audit_home(tmp_path: Path) -> AuditHome:
    return AuditHome(tmp_path)


def test_secrets_in_a_path_are_redacted(audit_home: AuditHome) -> None:
    secret = audit_home.keys.add(CreateTokenRequest(name="ci"), "home")[1]
    code = audit_home.keys.create_login_link("read", "home", 60, 60)[1]
    own = audit_home.home.system.token.read_text().strip()
    for path in (f"/agents/{secret}/x", f"/{own}", f"/login/{code}", "/answer/abc.def"):
        call = audit_home.ledger.open("GET", path, "127.0.0.1:1")
        audit_home.ledger.ended(call, 404, f"there is no '{secret[:4]}'")
    assert [line["path"] for line in audit_home.lines()] == [
        "/agents/[redacted]/x",
        "/[redacted]",
        "/login/[redacted]",
        "/answer/...",
    ]


def test_audit_line_has_caller_action_time_and_outcome(audit_home: AuditHome) -> None:
    call = audit_home.ledger.open("POST", "/agents", "127.0.0.1:1")
    call.caller = Principal("ci", "talk", "3fa9c1d2")
    audit_home.ledger.begun(call)
    audit_home.clock.time += 0.25
    audit_home.ledger.ended(call, 403, "no\r\n" + "x" * 1000)
    begun, ended = audit_home.lines()
    assert begun["status"] is None
    assert ended == {
        **begun,
        "ts": 1_000_000.25,
        "status": 403,
        "ms": 250.0,
        "reason": "no\r\n" + "x" * 296,
        "who": "ci",
        "login": "3fa9c1d2",
        "method": "POST",
        "path": "/agents",
        "client": "127.0.0.1:1",
    }


def test_excess_calls_are_audited_once_a_second(audit_home: AuditHome) -> None:
    def call(status: int) -> None:
        audit_home.ledger.ended(audit_home.ledger.open("GET", "/x", ""), status)

    for _ in range(5):
        call(429)
    call(200)
    audit_home.clock.time += 1
    call(429)
    found = [(line["status"], line.get("held_back")) for line in audit_home.lines()]
    assert found == [(429, None), (200, 4), (429, None)]


def test_refusal_at_the_uplink_is_audited(audit_home: AuditHome) -> None:
    stranger = HostRefused(peer="10.0.0.7", reason="its key is not known", held_back=3)
    audit_home.ledger.host_refused(stranger, "ab" * 16)
    audit_home.ledger.host_refused(
        HostRefused(peer="host/near", reason="no valid ticket"), "cd" * 16
    )
    assert [
        (line["who"], line["client"], line.get("held_back")) for line in audit_home.lines()
    ] == [
        (None, "10.0.0.7", 3),
        ("host/near", "", None),
    ]
    assert {(line["method"], line["status"]) for line in audit_home.lines()} == {("UPLINK", 403)}


def test_call_is_refused_if_it_cannot_be_audited(audit_home: AuditHome) -> None:
    audit_home.home.human.audit.mkdir(parents=True)
    call = audit_home.ledger.open("POST", "/agents", "")
    with pytest.raises(ApiError, match="audit cannot be written") as refused:
        audit_home.ledger.begun(call)
    assert refused.value.status == 503
    audit_home.ledger.ended(call, 503)
    assert "audit" in audit_home.log.lines[-1]


def test_the_last_calls_are_listed_once_each_over_all_files(tmp_path: Path) -> None:
    file = AuditFile(tmp_path / "audit.jsonl", 250, 3)
    assert file.latest(5) == []
    for number in range(6):
        for status in (None, 200 if number % 2 else 403):
            file.write({"id": f"{number}", "status": status})
    with (tmp_path / "audit.jsonl").open("a") as cut_off:
        cut_off.write('{"id": "7", "sta')
    assert len(list(tmp_path.iterdir())) > 1
    assert [one["id"] for one in file.latest(4)] == ["2", "3", "4", "5"]
    assert {one["status"] for one in file.latest(4)} == {200, 403}
    assert [one["id"] for one in file.latest(2, refused=True)] == ["2", "4"]

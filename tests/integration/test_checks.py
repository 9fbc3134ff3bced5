"""Checks with the real bash: each runs once per folder, within its limits, and its outcome is
reported."""

import asyncio
import hashlib
import os
from pathlib import Path

import pytest

from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.results import LONGEST_CHECK, MOST_CHECKS, CheckResult, normal_checks
from agiraph.tools.checking import evidence_of, run_checks, why_not
from agiraph.tools.sandbox.probe import probe
from tests.unit.tools.entity_tools import EntityTools


def checked(entity: EntityTools, *checks: str, folder: str = "call-1") -> tuple[CheckResult, ...]:
    context = entity.context(folder)
    return asyncio.run(
        run_checks(
            checks,
            scope=context.scope,
            config=context.config,
            environment={"PATH": os.defpath, "ANTHROPIC_API_KEY": "sk-secret"},
            folder=context.call_folder,
        )
    )


def test_all_checks_run_and_each_outcome_is_reported(tmp_path: Path) -> None:
    entity = EntityTools(tmp_path)
    (entity.node.scratch / "a.txt").write_text("a")
    results = checked(entity, "cat a.txt", "echo wrong; exit 3", "env")
    assert [one.exit_code for one in results] == [0, 3, 0]
    assert results[0] == CheckResult(
        command="cat a.txt", exit_code=0, output="a", is_walled=probe().works
    )
    assert "secret" not in results[2].output
    said = why_not(results, entity.config)
    assert "1 of 3 checks of this node failed, 2 passed" in said
    assert "$ echo wrong; exit 3\nwrong\n[exit code 3]" in said
    assert why_not(results[:1], entity.config) == ""


async def test_check_that_is_not_valid_shell_is_refused_when_its_node_is_created(
    tmp_path: Path,
) -> None:
    entity = EntityTools(tmp_path, "coordinator")
    made = tmp_path / "made"
    role = {"name": "ada", "prompt": "Work", "checks": [f"touch {made}", "if true; then"]}
    for tool, arguments in (
        ("create_work_node", {"task": "Work", "checks": role["checks"]}),
        ("launch_roles", {"stage": {"name": "one", "roles": [role]}}),
    ):
        refused = await entity.call(tool, **arguments)
        assert refused.is_error
        assert "the check `if true; then` is not valid shell: bash: -c: line" in refused.content
    assert entity.team.asked == []
    assert not made.exists()


def test_check_has_its_timeout(tmp_path: Path) -> None:
    entity = EntityTools(tmp_path)
    entity.limited("shell", check_seconds=0.2)
    assert "[it ran out of time]" in why_not(checked(entity, "sleep 86400"), entity.config)


def test_finished_check_is_not_repeated_in_the_same_folder(tmp_path: Path) -> None:
    entity = EntityTools(tmp_path)
    first = checked(entity, "echo x >> ran.txt; cat ran.txt")
    assert checked(entity, "echo x >> ran.txt; cat ran.txt") == first
    assert (entity.node.scratch / "ran.txt").read_text() == "x\n"
    checked(entity, "echo x >> ran.txt", folder="call-2")
    assert (entity.node.scratch / "ran.txt").read_text() == "x\nx\n"


def test_a_check_is_refused_where_a_sandbox_is_required_and_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agiraph.tools.sandbox.probe.find_program", lambda: None)
    entity = EntityTools(tmp_path)
    entity.limited("sandbox", required=True)
    with pytest.raises(Refused, match="install"):
        checked(entity, "true")


def test_artifact_hashes_equal_those_of_sha256sum(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two").write_text("2")
    (tmp_path / "a").write_text("1")
    (tmp_path / "link").symlink_to("/etc/passwd")
    evidence = evidence_of((), tmp_path, 7.0)
    sums = {path: hashlib.sha256(text).hexdigest() for path, text in (("a", b"1"), ("b/two", b"2"))}
    assert evidence.artifacts == sums
    lines = "".join(f"{digest}  {path}\n" for path, digest in sums.items())
    assert evidence.digest == hashlib.sha256(lines.encode()).hexdigest()
    assert evidence.at == 7.0


def test_invalid_check_is_refused_when_the_node_is_created() -> None:
    assert normal_checks((" make test ", "", "  ")) == ("make test",)
    with pytest.raises(InvalidInput, match=f"{MOST_CHECKS} checks"):
        normal_checks(("true",) * (MOST_CHECKS + 1))
    with pytest.raises(InvalidInput, match="at most"):
        normal_checks(("x" * (LONGEST_CHECK + 1),))
    with pytest.raises(InvalidInput, match="NUL"):
        normal_checks(("a\0b",))

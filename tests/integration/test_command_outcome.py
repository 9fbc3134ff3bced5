"""The results of a command whose starter has ended."""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from agiraph.core.turns import ToolCall
from agiraph.tools import runner
from agiraph.tools.command import RUNNER, CommandResult, read_outcome, recover_command
from tests.integration.waiting import until
from tests.unit.tools.entity_tools import EntityTools

SECONDS = 20.0


def started(folder: Path, command: str, lifeline: int) -> "subprocess.Popen[bytes]":
    """Start a command as an entity does; it holds the other end of `lifeline`."""
    folder.mkdir(parents=True)
    arguments = [str(folder), str(SECONDS), "1000", *"000", command, "0"]
    return subprocess.Popen(
        [*RUNNER, *arguments], stdin=lifeline, cwd=folder.parent, start_new_session=True
    )


@contextmanager
def orphan(folder: Path, command: str, *, when: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a command and let its entity exit as soon as the file `when` exists."""
    read_fd, write_fd = os.pipe()
    process = started(folder, command, read_fd)
    os.close(read_fd)
    until(when.exists, f"{when.name} is there")
    os.close(write_fd)
    yield process
    process.wait(SECONDS)


def recovered(folder: Path) -> CommandResult | None:
    return asyncio.run(asyncio.wait_for(recover_command(folder), SECONDS))


def test_the_outcome_of_a_command_that_ended_is_known(tmp_path: Path) -> None:
    folder = tmp_path / "5.0"
    with orphan(folder, "echo out; touch done; exit 3", when=folder / runner.OUTCOME):
        assert recovered(folder) == CommandResult("out\n", 3)
    assert recovered(folder) == CommandResult("out\n", 3), "asked again, it says the same"


def test_recovery_waits_for_a_command_that_is_about_to_end(tmp_path: Path) -> None:
    folder = tmp_path / "5.0"
    os.mkfifo(tmp_path / "gate")
    command = "touch begun; echo one; read x < gate; echo two"
    with orphan(folder, command, when=tmp_path / "begun"):
        with open(tmp_path / "gate", "w", encoding="utf-8") as gate:
            gate.write("go\n")
        assert recovered(folder) == CommandResult("one\ntwo\n", 0)


def test_a_command_that_does_not_end_is_killed_and_its_outcome_unknown(tmp_path: Path) -> None:
    folder = tmp_path / "5.0"
    with orphan(folder, "touch begun; sleep 300.019; touch done", when=tmp_path / "begun"):
        session = runner_of(folder)["session"]
        assert recovered(folder) is None
        assert not psutil.pid_exists(session)
    assert not (tmp_path / "done").exists()


def test_command_of_an_entity_that_died_before_its_start_never_runs(tmp_path: Path) -> None:
    folder = tmp_path / "5.0"
    read_fd, write_fd = os.pipe()
    os.close(write_fd)
    process = started(folder, "touch done", read_fd)
    os.close(read_fd)
    process.wait(SECONDS)
    assert recovered(folder) is None
    assert not (tmp_path / "done").exists()


def test_process_with_the_reused_pid_of_a_runner_is_not_killed(tmp_path: Path) -> None:
    folder = tmp_path / "5.0"
    folder.mkdir()
    (folder / runner.IDENTITY).write_text(f'{{"pid":{os.getpid()},"session":{os.getsid(0)}}}')
    assert recovered(folder) is None, "and this test still runs"


@pytest.mark.parametrize("torn", ["", '{"exit_code":', "\n", '{"exit_code":0}\n'])
def test_unreadable_outcome_is_ignored(tmp_path: Path, torn: str) -> None:
    (tmp_path / runner.OUTCOME).write_text(torn)
    assert read_outcome(tmp_path) is None


def test_command_that_kills_its_runner_is_answered_and_leaves_no_process(tmp_path: Path) -> None:
    entity = EntityTools(tmp_path)
    entity.environment = {"PATH": os.environ["PATH"]}
    entity.limited("sandbox", mode="none")
    result = asyncio.run(entity.call("bash", command="echo $$ > pid; kill -9 $PPID; sleep 300.020"))
    assert result.is_error
    assert "outcome is unknown" in result.content
    pid = int((entity.node.scratch / "pid").read_text())
    until(lambda: not psutil.pid_exists(pid), "the command is gone")


async def test_toolbox_recovers_an_outcome_and_forgets_it(tmp_path: Path) -> None:
    entity = EntityTools(tmp_path)
    entity.environment = {"PATH": os.environ["PATH"]}
    call = ToolCall(id="call-1", name="bash", arguments={"command": "echo 1; exit 2"})

    ran = await entity.toolbox.run(call, entity.context())
    assert await entity.toolbox.recover(call, entity.context()) == ran
    assert entity.context().call_folder.is_dir()
    entity.toolbox.forget(call, entity.context())
    assert [*entity.context().calls.iterdir()] == []
    assert await entity.toolbox.recover(call, entity.context()) is None
    entity.toolbox.forget(call, entity.context())


def runner_of(folder: Path) -> dict[str, int]:
    identity: dict[str, int] = json.loads((folder / runner.IDENTITY).read_text())
    return identity

"""The shell tool with the real bash: time, memory, output, environment, and nothing left behind."""

import asyncio
import os
import sys
from pathlib import Path

import psutil
import pytest

from agiraph.tools.sandbox.probe import probe
from agiraph.tools.scopes.publishing import publish_files
from tests.unit.tools.entity_tools import EntityTools

LINUX_ONLY = pytest.mark.skipif(sys.platform != "linux", reason="a limit of the Linux kernel")
MARK = "86399.{}"  # sleeps of this many seconds are ours


def desk_at(tmp_path: Path, **shell: object) -> EntityTools:
    entity = EntityTools(tmp_path)
    entity.environment = {"PATH": os.environ["PATH"]}
    entity.limited("shell", **shell)
    return entity


def bash(entity: EntityTools, command: str, **arguments: object) -> str:
    return asyncio.run(entity.call("bash", command=command, **arguments)).content


def sleepers(mark: str) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if mark in (process.info["cmdline"] or ()) and process.status() != psutil.STATUS_ZOMBIE
    ]


@pytest.fixture
def mark(request: pytest.FixtureRequest):  # type: ignore[no-untyped-def]
    """An argument of `sleep` by which a test knows its own processes; none may be left."""
    mine = MARK.format(abs(hash(request.node.name)) % 10**6 + os.getpid())
    yield mine
    _, left = psutil.wait_procs(sleepers(mine), timeout=5)
    for process in left:
        process.kill()
    assert not left


async def until_there_are(count: int, mark: str) -> None:
    async with asyncio.timeout(10):
        while len(sleepers(mark)) < count:  # noqa: ASYNC110 - another process sends no event
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("command", "content"),
    [
        ("echo one; echo two >&2; echo three; exit 3", "one\ntwo\nthree\n[exit code 3]"),
        ("cat; read x; echo done", "done\n[exit code 0]"),  # no terminal input
        ("printf 'a\\377b'", "a\ufffdb\n[exit code 0]"),
    ],
    ids=["output-errors-and-exit-code-in-order", "nothing-on-stdin", "output-that-is-no-text"],
)
def test_output_of_a_command_is_shown_with_its_exit_code(
    tmp_path: Path, command: str, content: str
) -> None:
    assert bash(desk_at(tmp_path), command) == content


def test_command_starts_in_scratch_and_knows_input_and_run(tmp_path: Path) -> None:
    entity = desk_at(tmp_path)
    entity.environment |= {"AGIRAPH_INPUT": "/some/input", "AGIRAPH_RUN": "/some/run"}
    content = bash(entity, 'pwd; echo "$AGIRAPH_INPUT $AGIRAPH_RUN"')
    assert content.startswith(f"{entity.node.scratch.resolve()}\n/some/input /some/run\n")


def test_a_relative_path_is_the_same_file_in_every_tool(tmp_path: Path) -> None:
    entity = desk_at(tmp_path)
    notebook = entity.run.worker("ada-1").notebook
    notebook.parent.mkdir(parents=True)
    notebook.touch()
    entity.node.spec.write_text("the task")
    (entity.input / "data.csv").write_text("a,b\n")
    asyncio.run(entity.call("write_file", path="out/rows.py", content="print('rows')\n"))
    said = bash(entity, "python3 out/rows.py; cat input/data.csv _spec.md; echo seen > notebook.md")
    assert said == "rows\na,b\nthe task\n[exit code 0]"
    assert notebook.read_text() == "seen\n"
    for path, text in (
        ("input/data.csv", "a,b\n"),
        ("_spec.md", "the task"),
        ("notebook.md", "seen\n"),
        ("out/rows.py", "print('rows')\n"),
    ):
        assert asyncio.run(entity.call("read_file", path=path)).content == text
    assert "input/" in asyncio.run(entity.call("list_files", path=".")).content


def test_the_files_of_a_ref_are_the_same_in_every_tool(tmp_path: Path) -> None:
    entity = desk_at(tmp_path)
    source = entity.run.node("tables")
    source.published.mkdir(parents=True)
    (source.published / "all.csv").write_text("a,b\n")
    entity.refs = {
        "../up": "nodes/tables/published",
        "one": "nodes/tables/published/all.csv",
    }
    assert bash(entity, "cat refs/up/all.csv refs/one/all.csv") == "a,b\na,b\n[exit code 0]"
    for path in ("refs/up/all.csv", "refs/one/all.csv"):
        assert asyncio.run(entity.call("read_file", path=path)).content == "a,b\n"
        assert asyncio.run(entity.call("write_file", path=path, content="x")).is_error
    assert "refs/up/all.csv:1: a,b" in asyncio.run(entity.call("search", pattern="a,b")).content
    assert asyncio.run(entity.call("find_files", glob="refs/*.csv")).content == "refs/up/all.csv"
    assert "up/" in asyncio.run(entity.call("list_files", path="refs")).content
    if probe().works:
        assert "Read-only" in bash(entity, "echo x > refs/up/new; echo x > refs/new")


def test_a_folder_with_a_built_in_name_is_moved_and_named(tmp_path: Path) -> None:
    entity = desk_at(tmp_path)
    (entity.input / "data.csv").write_text("a,b\n")
    said = bash(entity, "rm -f input; mkdir input; echo mine > input/own")
    (moved,) = entity.node.scratch.glob("input.moved-*")
    assert f"`input` is now `{moved.name}`" in said
    assert bash(entity, f"cat input/data.csv {moved.name}/own") == "a,b\nmine\n[exit code 0]"


def test_an_edit_that_replaces_a_link_changes_the_notebook(tmp_path: Path) -> None:
    entity = desk_at(tmp_path)
    notebook = entity.run.worker("ada-1").notebook
    notebook.parent.mkdir(parents=True)
    notebook.write_text("the answer is 42\n")
    assert bash(entity, "sed -i s/42/43/ notebook.md") == "[exit code 0]"
    assert notebook.read_text() == "the answer is 43\n"
    read = asyncio.run(entity.call("read_file", path="notebook.md")).content
    assert read == "the answer is 43\n"
    assert bash(entity, "cat notebook.md") == "the answer is 43\n[exit code 0]"
    assert bash(entity, "echo 44 > new; mv new notebook.md") == "[exit code 0]"
    assert notebook.read_text() == "44\n"
    assert publish_files(entity.node, "done") == ("summary.md",)


def test_an_edit_that_replaces_a_link_changes_the_agents_memory(tmp_path: Path) -> None:
    entity = EntityTools(tmp_path, "coordinator")
    entity.environment = {"PATH": os.environ["PATH"]}
    memory = entity.agent.memory_file
    memory.write_text("the answer is 42\n")
    assert bash(entity, "sed -i s/42/43/ MEMORY.md; cat MEMORY.md").startswith("the answer is 43\n")
    assert memory.read_text() == "the answer is 43\n"
    read = asyncio.run(entity.call("read_file", path="MEMORY.md")).content
    assert read == "the answer is 43\n"


def test_command_sees_no_key(tmp_path: Path) -> None:
    entity = desk_at(tmp_path)
    entity.environment |= {"ANTHROPIC_API_KEY": "sk-secret", "HOME": "/root", "TZ": "UTC"}
    content = bash(entity, "env; cat /proc/self/environ 2>/dev/null | tr '\\0' '\\n'")
    assert "secret" not in content
    assert "TZ=UTC" in content


def test_signal_of_a_killed_command_is_reported(tmp_path: Path) -> None:
    entity = desk_at(tmp_path)
    entity.limited("sandbox", mode="none")
    assert bash(entity, "kill -9 $$") == "[killed by signal 9]"


def test_timed_out_command_is_killed_with_its_descendants(tmp_path: Path, mark: str) -> None:
    command = f"echo begun; setsid sleep {mark} & set -m; sleep {mark} & sleep {mark} & wait"
    content = bash(desk_at(tmp_path), command, timeout=1)
    assert content.startswith("begun\n[timed out after 1 seconds")
    psutil.wait_procs(sleepers(mark), timeout=5)
    assert sleepers(mark) == []


def test_a_background_job_ends_with_its_command(tmp_path: Path, mark: str) -> None:
    command = f"sleep {mark} & set -m; sleep {mark} & echo started"
    assert bash(desk_at(tmp_path), command) == "started\n[exit code 0]"
    psutil.wait_procs(sleepers(mark), timeout=5)
    assert sleepers(mark) == []


@LINUX_ONLY
@pytest.mark.parametrize("mode", ["none", "auto"])
def test_a_process_in_a_session_of_its_own_ends_with_its_command(
    tmp_path: Path, mark: str, mode: str
) -> None:
    entity = desk_at(tmp_path)
    entity.limited("sandbox", mode=mode)
    assert bash(entity, f"(setsid sleep {mark} &); echo started") == "started\n[exit code 0]"
    psutil.wait_procs(sleepers(mark), timeout=5)
    assert sleepers(mark) == []


async def test_cancelled_command_leaves_no_process(tmp_path: Path, mark: str) -> None:
    command = f"sleep {mark} & (set -m; sleep {mark} & sleep {mark})"
    task = asyncio.ensure_future(desk_at(tmp_path).call("bash", command=command))
    await until_there_are(3, mark)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    psutil.wait_procs(sleepers(mark), timeout=5)
    assert sleepers(mark) == []


def test_endless_output_is_cut_to_its_beginning_and_its_end(tmp_path: Path) -> None:
    content = bash(desk_at(tmp_path, output_limit=1000), "seq 1 200000")
    assert content.startswith("1\n2\n")
    assert content.endswith("199999\n200000\n[exit code 0]")
    assert "bytes of 1288895 left out" in content
    assert len(content) < 1200


async def test_other_calls_continue_while_a_command_prints_endlessly(tmp_path: Path) -> None:
    entity = desk_at(tmp_path)
    endless = asyncio.ensure_future(entity.call_as("call-0", "bash", command="yes", timeout=60))
    assert (await entity.call("bash", command="echo here")).content == "here\n[exit code 0]"
    endless.cancel()
    await asyncio.wait([endless])


@LINUX_ONLY
def test_reserved_address_space_is_not_counted_as_memory(tmp_path: Path) -> None:
    """Chromium, Go and the JVM reserve many gigabytes that they never use."""
    command = f"{sys.executable} -c 'import mmap; mmap.mmap(-1, 64 << 30, flags=0x4022)'"
    entity = desk_at(tmp_path, total_memory_mb=256)
    entity.environment["PATH"] = f"{Path(sys.executable).parent}:{entity.environment['PATH']}"
    assert bash(entity, command) == "[exit code 0]"


@pytest.mark.parametrize("signal_name", ["ILL", "TRAP", "ABRT", "KILL", "SEGV"])
def test_crash_of_a_program_names_the_limits(tmp_path: Path, signal_name: str) -> None:
    entity = desk_at(tmp_path, total_memory_mb=300, processes=90)
    content = bash(entity, f"bash -c 'kill -{signal_name} $$'; exit $?")
    assert f"a program was ended by SIG{signal_name}; limits: 300 MB of memory, 90 proc" in content


@LINUX_ONLY
def test_process_limit_excludes_other_processes_of_the_user(tmp_path: Path) -> None:
    content = bash(desk_at(tmp_path, processes=50), "ulimit -u; ulimit -c")
    tasks, core = content.split("\n")[:2]
    assert int(tasks) > 50
    assert core == "0"


def test_zero_means_no_limit(tmp_path: Path) -> None:
    content = bash(desk_at(tmp_path, total_memory_mb=0, processes=0), "echo fine")
    assert content == "fine\n[exit code 0]"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"command": "echo", "timeout": 99999}, "up to 3600 seconds"),
        ({"command": "echo \0"}, "null byte"),
        ({"command": "echo " + "x" * 200_000}, "too long"),
        ({"command": ""}, "at least 1 character"),
    ],
)
async def test_impossible_command_is_answered_with_an_error(
    tmp_path: Path, arguments: dict[str, object], reason: str
) -> None:
    result = await desk_at(tmp_path).call("bash", **arguments)
    assert result.is_error
    assert reason in result.content


async def test_command_leaves_no_open_descriptor(tmp_path: Path) -> None:
    entity = desk_at(tmp_path)
    await entity.call("bash", command="true")
    before = psutil.Process().num_fds()
    for _ in range(5):
        await entity.call("bash", command="echo x")
    assert psutil.Process().num_fds() == before

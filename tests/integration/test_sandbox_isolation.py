"""The real sandbox: a worker's command cannot see other workers, keys or the machine.

Skipped where bubblewrap is not installed or the kernel forbids it.
"""

import asyncio
import os
import secrets
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from agiraph.core.ids import WorkerId
from agiraph.external.launching import AgentLaunch, argv_of, sandbox_readable
from agiraph.external.preset import AgentPreset, ExternalAgent
from agiraph.settings.config import load_config
from agiraph.storage.home import Home
from agiraph.storage.home_folders import socket_url
from agiraph.tools.command import CommandLimits, CommandResult, run_command
from agiraph.tools.sandbox.probe import probe
from agiraph.tools.sandbox.sandbox import find_sandbox
from agiraph.tools.scopes.scope import Scope
from tests.unit.tools.entity_tools import EntityTools
from tests.unit.tools.scopes.home_layout import OTHER, HomeLayout, build

FOUND = probe()
pytestmark = pytest.mark.skipif(not FOUND.works, reason=FOUND.why or "no sandbox")
SECRET = "sk-agiraph-never-seen"
Inside = Callable[..., CommandResult]

TOOLS = os.pathsep.join((os.path.dirname(sys.executable), os.defpath))
REACH = """
import socket, sys
own = socket.socket(socket.AF_UNIX)
own.bind(f"\\0{sys.argv[1]}-own")
own.listen()
for name, told in ((f"{sys.argv[1]}-own", "its own"), (sys.argv[1], "the machine's")):
    socket.socket(socket.AF_UNIX).connect(f"\\0{name}")
    print(told, flush=True)
"""


@pytest.fixture
def layout(tmp_path: Path) -> HomeLayout:
    return build(tmp_path.resolve() / "home")


@pytest.fixture
def inside(tmp_path: Path) -> Inside:
    """Run a command as `bash` does."""

    def run(
        scope: Scope, command: str, path: str = os.defpath, has_network: bool | None = None
    ) -> CommandResult:
        sandbox = find_sandbox(load_config().sandbox)
        enclosure = sandbox.enclose(scope, path=path, has_network=has_network, keeps_tmp=True)
        running = run_command(
            command,
            folder=tmp_path / "call",
            cwd=scope.cwd,
            environment={"PATH": os.defpath, "AGIRAPH_RUN": "/some/run"},
            limits=CommandLimits(20, 20_000),
            before=enclosure.words,
        )
        finished = asyncio.run(running)
        assert finished is not None
        return finished

    return run


def test_an_agent_in_a_virtual_environment_of_its_own_runs_there(
    layout: HomeLayout, tmp_path: Path
) -> None:
    venv, link = tmp_path / "venvs/robot", tmp_path / "links/robot"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    [packages] = venv.glob("lib/python3*/site-packages")
    base = Path(os.path.realpath(venv / "bin/python"))
    version = tmp_path / "pythons/3"  # uv reaches a Python's folder by such a link
    version.parent.mkdir()
    version.symlink_to(base.parents[1])
    (venv / "bin/python").unlink()
    (venv / "bin/python").symlink_to(version / "bin" / base.name)
    (venv / "pyvenv.cfg").write_text(f"home = {version}/bin\n")
    (packages / "robot.py").write_text("import os, json\nprint(os.getcwd(), json.dumps([1]))\n")
    program = venv / "bin/robot"
    program.write_text(f"#!{venv}/bin/python\nimport robot\n")
    program.chmod(0o755)
    link.parent.mkdir()
    link.symlink_to(program)
    agent = ExternalAgent("robot", AgentPreset(command=("robot",)), str(link))
    scope = layout.worker()
    job = AgentLaunch(agent, "p", layout.node.scratch, tmp_path, is_sandboxed=True)
    enclosure = find_sandbox(load_config().sandbox).enclose(
        scope, readable=sandbox_readable(agent, os.defpath), cwd=job.folder
    )
    argv = [*enclosure.words, *argv_of(job)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    assert (done.stdout, done.stderr) == (f"{layout.node.scratch} [1]\n", "")


def test_a_worker_sees_its_own_files_at_their_own_places(
    layout: HomeLayout, inside: Inside
) -> None:
    me = layout.run.worker("ada-111111")
    command = (
        f"pwd; cat draft.md ../_spec.md {layout.run.plan} {me.notebook} "
        f"{layout.input_dir}/table.csv {layout.run.node(OTHER).published}/sub/result.md; "
        f"echo new > made.txt; echo noted >> {me.notebook}"
    )
    finished = inside(layout.worker(), command)
    assert finished.exit_code == 0, finished.output
    assert finished.output.startswith(f"{layout.node.scratch}\n")
    assert (layout.node.scratch / "made.txt").read_text() == "new\n"
    assert me.notebook.read_text().endswith("noted\n")


def test_a_worker_sees_nothing_of_others(layout: HomeLayout, inside: Inside) -> None:
    """Neither another worker's files nor the agent's, the broker's or the person's."""
    agent, other = layout.agent, layout.run.node(OTHER)
    hidden = (
        *(other.scratch / "draft.md", other.spec, other.log, layout.run.journal),
        *(layout.run.worker("ben-222222").notebook, layout.run.worker("ben-222222").conversation),
        *(agent.soul, agent.memory_file, agent.memory / "index.md", agent.conversation),
        *(agent.record, agent.run("r0").plan, layout.root / "system" / "token"),
        *(Path.home(), Path("/root"), Path("/etc/shadow"), Path("/etc/pip.conf")),
        *(Path("/etc/npmrc"), Path("/var/log"), Path("/var/lib/dpkg"), Path("/run/dbus")),
        *(Path("/sys/class"), Path("/sys/kernel"), Path("/sys/firmware")),
    )
    looks = "; ".join(f"test -e {path} && echo SEEN {path}" for path in hidden)
    finished = inside(layout.worker(), f"{looks}; find {layout.root} -type f")
    assert "SEEN" not in finished.output
    found = {Path(line) for line in finished.output.splitlines()}
    assert not found & set(hidden)
    assert layout.node.scratch / "draft.md" in found


def test_worker_cannot_write_outside_its_own_files(layout: HomeLayout, inside: Inside) -> None:
    places = (
        *(layout.node.published / "x", layout.node.log, layout.run.plan, layout.run.path / "x"),
        *(layout.run.node(OTHER).published / "sub" / "result.md", layout.input_dir / "table.csv"),
        *(layout.run.worker("ada-111111").conversation, Path("/usr/x"), Path("/etc/x")),
    )
    writes = "; ".join(f"(echo spoilt > {place}) 2>/dev/null" for place in places)
    inside(layout.worker(), writes)
    assert not [place for place in places if place.exists() and "spoilt" in place.read_text()]


def test_worker_sees_no_other_process_and_no_foreign_environment(
    layout: HomeLayout, inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    command = "cat /proc/*/environ | tr '\\0' '\\n'; ls -d /proc/[0-9]*; ls -A /tmp /dev/shm"
    finished = inside(layout.worker(), command)
    assert SECRET not in finished.output
    assert f"/proc/{os.getpid()}\n" not in finished.output
    assert len([line for line in finished.output.splitlines() if line.startswith("/proc/")]) < 6


def test_tmp_lasts_as_long_as_the_node(layout: HomeLayout, inside: Inside) -> None:
    assert inside(layout.worker(), "echo kept > /tmp/note; ln -s /tmp/note /var/tmp/x").output == ""
    other = Scope.for_worker(
        layout.agent, layout.run, WorkerId("ben-222222"), layout.run.node(OTHER), layout.input_dir
    )
    look = "cat /tmp/note /var/tmp/x"
    assert inside(layout.worker(), look).output == "kept\nkept\n"
    assert "No such file" in inside(other, look).output
    assert "No such file" in inside(layout.coordinator(), look).output


def test_folders_shown_below_tmp_can_be_neither_moved_nor_filled(
    layout: HomeLayout, inside: Inside
) -> None:
    """Otherwise a link there would lead the mounts of the next command elsewhere."""
    if not layout.root.is_relative_to("/tmp"):
        pytest.skip("temporary files are elsewhere")
    top = Path("/tmp", layout.root.relative_to("/tmp").parts[0])
    finished = inside(
        layout.worker(), f"mv {top} /tmp/moved; rm -rf {top}; ln -s /etc {top}; echo x > {top}/new"
    )
    assert "cannot move" in finished.output
    assert not (layout.node.temporary / top.name / "new").exists()
    assert (layout.node.temporary / top.name).is_dir()
    assert (layout.input_dir / "table.csv").exists()
    assert inside(layout.worker(), "pwd").output == f"{layout.node.scratch}\n"


def test_no_file_of_the_kernel_can_be_written(layout: HomeLayout, inside: Inside) -> None:
    """Root could, though without any privilege; by core_pattern alone a command would be out."""
    command = "find /proc -path '/proc/[0-9]*' -prune -o -type f -writable -print; echo looked"
    assert inside(layout.worker(), command).output == "looked\n"


def test_command_can_neither_reach_nor_kill_its_runner(layout: HomeLayout, inside: Inside) -> None:
    finished = inside(layout.worker(), "kill -9 -1; kill -9 $PPID; echo alive")
    assert finished.exit_code == 0 or finished.exit_code == 137


def test_no_process_of_a_command_outlives_it(layout: HomeLayout, inside: Inside) -> None:
    command = "setsid sleep 86398.017 & setsid sleep 86398.017 & echo begun"
    assert inside(layout.worker(), command).output == "begun\n"
    left = [
        one
        for one in psutil.process_iter(["cmdline"])
        if "86398.017" in (one.info["cmdline"] or ())
    ]
    _, alive = psutil.wait_procs(left, timeout=5)
    assert alive == []


def test_command_without_network_cannot_reach_loopback(layout: HomeLayout, inside: Inside) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        command = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"
        assert "reached" in inside(layout.worker(), command).output
        finished = inside(layout.worker(), command, has_network=False)
        assert "reached" not in finished.output


@pytest.mark.skipif(not FOUND.can_scope, reason="Landlock here knows no scopes")
def test_command_with_network_cannot_reach_abstract_sockets(
    layout: HomeLayout, inside: Inside
) -> None:
    """D-Bus and X11 listen there; neither way to run something in the sandbox reaches them."""
    name = f"agiraph-test-{secrets.token_hex(8)}"
    argv = [sys.executable, "-c", REACH, name]
    wall = find_sandbox(load_config().sandbox)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        bare = subprocess.run(argv, capture_output=True, text=True, check=False)
        agent = subprocess.run(
            [*wall.enclose(layout.worker(), path=TOOLS).words, *argv],
            capture_output=True,
            text=True,
            check=False,
        )
        bash = inside(layout.worker(), shlex.join(argv), path=TOOLS)
    assert bare.stdout == "its own\nthe machine's\n", bare.stderr
    for said in (agent.stdout + agent.stderr, bash.output):
        assert said.startswith("its own\n"), said
        assert "the machine's" not in said
        assert "Operation not permitted" in said


def test_the_routers_socket_is_a_file_that_no_command_sees(
    layout: HomeLayout, inside: Inside, tmp_path: Path
) -> None:
    url = socket_url(Home(tmp_path / "home"))
    assert url.startswith("ipc:///"), "no abstract socket: that would be reached by its name"
    path = Path(url.removeprefix("ipc://"))
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.touch()
        look = f"test -e {path} && echo seen; echo looked"
        assert inside(layout.worker(), look).output == "looked\n"
    finally:
        path.unlink()


def test_coordinator_writes_its_run_but_not_the_journals(
    layout: HomeLayout, inside: Inside
) -> None:
    command = (
        f"echo planned >> _plan.md; echo mine > report.md; (echo spoilt > {layout.run.journal}); "
        f"(echo spoilt > {layout.node.scratch}/draft.md); (cat {layout.agent.conversation}); "
        f"echo kept >> {layout.agent.memory_file}; cat {layout.node.scratch}/draft.md"
    )
    finished = inside(layout.coordinator(), command)
    assert finished.exit_code == 0, finished.output
    assert layout.run.plan.read_text().endswith("planned\n")
    assert (layout.run.path / "report.md").read_text() == "mine\n"
    assert layout.agent.memory_file.read_text().endswith("kept\n")
    assert "spoilt" not in layout.run.journal.read_text()
    assert "spoilt" not in (layout.node.scratch / "draft.md").read_text()
    assert "conversation.jsonl: No such file" in finished.output


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="only root can be another")
def test_sandbox_works_for_an_unprivileged_user() -> None:
    """The kernel allows it without any privilege, as on a person's own machine."""
    from agiraph.tools.sandbox.bubblewrap import SandboxContents, words_before
    from agiraph.tools.sandbox.toolchain import toolchain

    before = words_before(
        FOUND.program, SandboxContents(toolchain(os.defpath), (), None, (), Path("/tmp"), True)
    )
    if not os.access(FOUND.program, os.X_OK) or Path("/root") in Path(FOUND.program).parents:
        pytest.skip("bubblewrap stands where nobody else can reach it")
    child = os.fork()
    if child == 0:
        try:
            os.setgid(65534)
            os.setuid(65534)
            os.execv(before[0], [*before, "true"])
        finally:
            os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


async def test_bash_is_refused_if_a_required_sandbox_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agiraph.tools.sandbox.probe.find_program", lambda: None)
    entity = EntityTools(tmp_path)
    entity.environment = {"PATH": os.defpath}
    entity.limited("sandbox", required=True)
    result = await entity.call("bash", command="touch done")
    assert result.is_error
    assert "bubblewrap is not installed (apt install bubblewrap" in result.content
    assert not (entity.node.scratch / "done").exists()

"""The person's git after attacks from a sandbox that may write the input folder; the real git."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from agiraph.settings.config import load_config
from agiraph.tools.command import RUNNER, CommandLimits, CommandResult, recover_command, run_command
from agiraph.tools.sandbox.input_guard import is_empty_folder
from agiraph.tools.sandbox.probe import probe
from agiraph.tools.sandbox.sandbox import Sandbox, find_sandbox
from agiraph.tools.sandbox.survey import survey
from agiraph.tools.scopes.scope import Scope
from tests.integration.input_attacks import ATTACKS, PLAIN, REPOSITORY, TOOLS, InputAttack
from tests.integration.waiting import until
from tests.unit.tools.entity_tools import EntityTools
from tests.unit.tools.scopes.home_layout import build

FOUND = probe()
pytestmark = pytest.mark.skipif(not FOUND.works, reason=FOUND.why or "no sandbox")
SECONDS = 20.0
RACES = 5
SETTINGS = "[user]\n\tname = Ada\n\temail = ada@localhost\n[init]\n\tdefaultBranch = main\n"


class WritableInputHome:
    """A person with a home folder and an input folder, and a worker whose commands may write it."""

    def __init__(self, tmp_path: Path) -> None:
        tmp_path = tmp_path.resolve()
        layout = build(tmp_path / "home")
        self.root = layout.root
        self.input = tmp_path / "project" / "files"
        self.input.mkdir(parents=True)
        self.proof = tmp_path / "proof"
        home = tmp_path / "person"
        home.mkdir()
        (home / ".gitconfig").write_text(SETTINGS)
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
        worker = layout.worker()
        self.scope = Scope(worker.rules, self.input, worker.home)

    def does(self, script: str) -> None:
        """Run a shell script in the input folder, outside any sandbox."""
        self._run("bash", "-ec", script, where=self.input).check_returncode()

    def runs_git(self, words: str, where: Path) -> None:
        if where.is_dir():
            self._run("git", *words.split(), where=where)

    def _run(self, *words: str, where: Path) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            words,
            cwd=where,
            env=self.environ,
            check=False,
            timeout=SECONDS,
            capture_output=True,
        )

    @property
    def sandbox(self) -> Sandbox:
        return find_sandbox(load_config().sandbox.model_copy(update={"input": "write"}))

    def tries(self, command: str) -> CommandResult:
        """Run a model's command in the input folder."""
        return asyncio.run(self.run(command))

    async def run(self, command: str, call: str = "call") -> CommandResult:
        enclosure = self.sandbox.enclose(self.scope)
        finished = await run_command(
            f"cd {self.input}; PROOF={self.proof}\n{TOOLS}\n{command}",
            folder=self.root / call,
            cwd=self.scope.cwd,
            environment={"PATH": os.defpath, "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/tmp"},
            limits=CommandLimits(SECONDS, 20_000),
            before=enclosure.words,
            standins=enclosure.standins,
        )
        assert finished is not None
        return finished

    def news(self) -> list[str]:
        guard = self.sandbox.input_guard(self.scope)
        return [one.path for one in guard.news()] if guard else []

    def why_read_only(self) -> str:
        guard = self.sandbox.input_guard(self.scope)
        return guard.why_read_only if guard else ""

    def git_commands(self) -> tuple[str, ...]:
        guard = self.sandbox.input_guard(self.scope)
        return guard.baseline.git_commands if guard else ()

    def left_standins(self) -> list[Path]:
        """Return empty folders named .git in the input folder."""
        return [folder for folder in self.input.rglob(".git") if is_empty_folder(folder)]


@pytest.fixture
def input_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WritableInputHome:
    input_home = WritableInputHome(tmp_path)
    for name, value in input_home.environ.items():
        monkeypatch.setenv(name, value)
    return input_home


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name for attack in ATTACKS])
def test_no_command_makes_the_persons_git_run_a_program(
    input_home: WritableInputHome, attack: InputAttack
) -> None:
    input_home.does(attack.given)
    before = {one.path for one in survey(input_home.input).found}
    finished = input_home.tries(attack.command)
    reported = input_home.news()
    after = {one.path for one in survey(input_home.input).found}
    assert input_home.left_standins() == []
    for folder in attack.where:
        for words in attack.then:
            input_home.runs_git(words, input_home.input / folder)
    if attack.is_held or attack.is_configured:
        assert input_home.proof.exists() is not attack.is_held, finished.output
    assert bool(input_home.why_read_only()) is attack.is_read_only
    assert input_home.git_commands() or not attack.is_configured
    for path in attack.reported:
        assert any(one.startswith(path) for one in reported), (reported, finished.output)
    if not attack.reported and not attack.is_configured:
        assert (reported, before) == ([], after), finished.output


def test_a_repository_can_be_read_in_the_sandbox(input_home: WritableInputHome) -> None:
    input_home.does(REPOSITORY)
    finished = input_home.tries(
        "git log --format=%s; echo b > a; git diff --stat; git commit -qam b"
    )
    assert "first\n" in finished.output
    assert "1 file changed" in finished.output
    assert "Read-only file system" in finished.output
    assert (input_home.input / "a").read_text() == "b\n"


async def test_last_of_several_commands_removes_the_placeholder(
    input_home: WritableInputHome,
) -> None:
    input_home.does(f"{PLAIN}; mkfifo gate")
    slow = asyncio.create_task(input_home.run("echo > begun; read x < gate; evil .", "slow"))
    await asyncio.to_thread(until, (input_home.input / "begun").exists, "the command has begun")
    await input_home.run("true", "quick")
    assert input_home.left_standins() == [input_home.input / ".git"], (
        "it still covers the other command"
    )
    with open(input_home.input / "gate", "w", encoding="utf-8") as gate:
        gate.write("\n")
    await slow
    assert not (input_home.input / ".git").exists()


@pytest.mark.parametrize("killed", ["runner", "entity", "both"])
def test_no_placeholder_remains_after_kill_9(input_home: WritableInputHome, killed: str) -> None:
    input_home.does(PLAIN)
    folder, begun = input_home.root / "call", input_home.input / "begun"
    enclosure = input_home.sandbox.enclose(input_home.scope)
    command = f"cd {input_home.input}; touch begun; sleep 86398.5"
    arguments = (str(folder), "60", "1000", *"000", command)
    more = (str(len(enclosure.standins)), *enclosure.standins, *enclosure.words)
    folder.mkdir()
    read_fd, lifeline = os.pipe()
    runner = subprocess.Popen([*RUNNER, *arguments, *more], stdin=read_fd, start_new_session=True)
    os.close(read_fd)
    until(begun.exists, "the command has begun")
    assert (input_home.input / ".git").exists()
    if killed != "entity":
        runner.kill()
    if killed != "runner":
        os.close(lifeline)
    runner.wait(SECONDS)
    if killed != "entity":
        assert asyncio.run(recover_command(folder)) is None, "the next incarnation asks"
    assert not (input_home.input / ".git").exists()
    if killed == "runner":
        os.close(lifeline)


def test_leftover_placeholder_is_removed_after_the_next_command(
    input_home: WritableInputHome,
) -> None:
    input_home.does(f"{PLAIN}; mkdir .git")
    input_home.tries("true")
    assert not (input_home.input / ".git").exists()
    input_home.does("mkdir .git; touch .git/theirs")
    input_home.tries("rm -rf .git")
    assert (input_home.input / ".git" / "theirs").exists(), "the person's own stays"


async def test_a_new_repository_is_reported_to_the_model_and_the_person_once(
    tmp_path: Path,
) -> None:
    entity, reported = EntityTools(tmp_path.resolve()), []
    entity.environment = {"PATH": os.defpath, "AGIRAPH_INPUT": str(entity.input)}
    entity.limited("sandbox", input="write")
    entity.report = lambda event, data, key="": reported.append((event, data["paths"]))
    first = await entity.call("bash", command="git init -q $AGIRAPH_INPUT/sub; echo done")
    second = await entity.call("bash", command="echo done")
    assert first.content.startswith(
        "done\n[exit code 0]\n[input] New in the input folder: sub/.git."
    )
    assert second.content == "done\n[exit code 0]"
    assert reported == [("sandbox.autorun", ["sub/.git"])]


def test_background_process_does_not_outlive_the_placeholder(input_home: WritableInputHome) -> None:
    """It tries all the time, in several processes, so that it would hit any moment in between."""
    input_home.does(PLAIN)
    spin = "(setsid bash -c 'while :; do mkdir -p .git/x; done' &) 2>/dev/null"
    for number in range(RACES):
        input_home.tries(f"{spin}; {spin}; {spin}; {spin}; sleep 0.0{number}")
        assert not (input_home.input / ".git").exists()

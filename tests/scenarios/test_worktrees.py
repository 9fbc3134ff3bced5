"""A team changes a person's git repository: a worktree a node, merged by the coordinator alone."""

import json
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.model_server import Reply, call, calls
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.scenario_home import Outcome
from tests.scenarios.steps import (
    WAIT,
    Plays,
    bash,
    by_node,
    finish,
    held,
    node,
    program,
    publish,
    spawn,
)
from tests.unit.tools.worktrees.checkout import Checkout, needs_git

pytestmark = needs_git
TIP = "repositories/*.git/refs/heads/agiraph/*/result"


@pytest.fixture
def live_home(killable_home: LiveHome) -> LiveHome:
    """Return the running home where workers change repositories in worktrees."""
    return killable_home


@pytest.fixture
def project(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path, {"a.txt": "one\ntwo\nthree\n", "b.txt": "b\n"})


def lead(*nodes: str) -> Plays:
    return [calls(*map(node, nodes)), WAIT, finish("All is changed.")]


def change(
    live_home: LiveHome, project: Checkout, name: str, meanwhile: Callable[[Path], None]
) -> Outcome:
    """Have the team change the project; `meanwhile` receives the folder of its agent."""
    return live_home.complete(
        *("Change it", "--name", name, "--input", str(project.path)),
        meanwhile=lambda: meanwhile(live_home.agent(name)),
    )


def found(folder: Path, pattern: str) -> str:
    """Return the text of the first matching file, '' if there is none."""
    file = next(folder.glob(pattern), None)
    return file.read_text() if file else ""


def branches(project: Checkout) -> list[str]:
    return project.git("branch", "--format=%(refname:short)").split()


def assert_consistent(project: Checkout) -> None:
    """Assert that the person's checkout is unchanged, and that no worktree or lock is left."""
    assert project.git("status", "--porcelain") == ""
    assert (project.path / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert len(project.git("worktree", "list").splitlines()) == 1
    assert not list((project.path / ".git").rglob("*.lock"))
    project.git("fsck", "--strict")


def test_two_workers_change_one_file_and_the_second_to_publish_solves_the_conflict(
    live_home: LiveHome, project: Checkout
) -> None:
    ada_is_done = threading.Event()

    def ada_published(seen: object) -> Reply:
        ada_is_done.wait(30)
        return publish("uno")

    solve = "cd repo && grep -q '<<<<<<<' a.txt && sed -i '/^[<=>]\\{7\\}/d' a.txt"
    see = "cd repo && git log -1 && git status && sed -i s/one/ONE/ a.txt"
    nodes: dict[str, Plays] = {
        "ada": [bash(see), publish("ONE")],
        "bob": [
            bash("cd repo && sed -i s/one/uno/ a.txt && echo new > c.txt"),
            ada_published,
            bash(solve),
            publish("both"),
        ],
    }
    live_home.plays(by_node(lead("ada", "bob"), nodes))

    def meanwhile(agent: Path) -> None:
        until(lambda: "COMPLETED" in found(agent, "runs/*/nodes/ada*/_status.md"), "ada's end")
        ada_is_done.set()

    outcome = change(live_home, project, "both", meanwhile)
    result = f"agiraph/{outcome.result['run']}/result"
    assert branches(project) == [result, "main"]
    assert project.show(result, "a.txt") == "uno\nONE\ntwo\nthree"
    assert project.show(result, "c.txt") == "new"
    assert f"git -C {project.path} merge {result}" in outcome.result["result"]
    assert [one["files"] for one in outcome.data("worktree.conflict")] == [["a.txt"]]
    assert [one["name"] for one in outcome.data("worktree.merged")] == ["ada", "bob"]
    assert outcome.published("ada").keys() == {"changes.patch"}
    assert "+ONE" in outcome.published("ada")["changes.patch"]
    assert not list(outcome.run.glob("nodes/*/scratch/repo"))
    assert_consistent(project)


AGENT = """\
#!/bin/sh
set -e
grep -q 'git worktree of the input' _task.md
cd repo
git log -1 > /dev/null
until test -e GO; do sleep 0.05; done
if grep -q '<<<<<<<' a.txt
then sed -i '/^[<=>]\\{7\\}/d' a.txt
else sed -i s/one/NAME/ a.txt
fi
echo "Changed a.txt" > ../_result.md
"""


def test_conflict_of_two_external_agents_is_resolved_by_the_later_one(
    live_home: LiveHome, project: Checkout, tmp_path: Path
) -> None:
    go = project.path / ".git" / "go"
    script = AGENT.replace("GO", str(go))
    names = ("ann", "ben")
    programs = {name: program(tmp_path, script.replace("NAME", name), name) for name in names}
    presets = {name: {"command": [path]} for name, path in programs.items()}
    (live_home.home / "agents.yaml").write_text(json.dumps(presets))
    hired = [spawn(name, type="autonomous", agent_command=name) for name in names]
    nodes = [node(f"{name}-node", name) for name in names]
    live_home.plays(coordinator=[calls(*hired), calls(*nodes), WAIT, finish()])

    def meanwhile(agent: Path) -> None:
        made = "repositories/*.git/worktrees/*/agiraph-ready"
        until(lambda: len(list(agent.glob(made))) == 2, "both worktrees")
        go.touch()

    outcome = change(live_home, project, "outside", meanwhile)
    result = f"agiraph/{outcome.result['run']}/result"
    assert set(project.show(result, "a.txt").split()) == {"ann", "ben", "two", "three"}
    assert len(outcome.events("worktree.conflict")) == 1
    assert len(outcome.events("outside.started")) == 3
    for name in names:
        assert outcome.published(f"{name}-node").keys() == {"_result.md", "changes.patch"}
    assert_consistent(project)


def test_killed_at_its_merge_the_coordinator_merges_once_and_the_worker_publishes_once(
    live_home: LiveHome, project: Checkout
) -> None:
    gate = threading.Event()
    nodes: dict[str, Plays] = {
        "ada": [bash("cd repo && sed -i s/one/ONE/ a.txt"), held(publish("ONE"), gate)],
        "bob": [bash("cd repo && echo left behind > b.txt"), bash("sleep 300.019")],
    }
    leads = [calls(node("ada"), node("bob")), call("wait", nodes=["ada"]), finish()]
    live_home.plays(by_node(leads, nodes))

    def meanwhile(agent: Path) -> None:
        adas, bobs = (f"runs/*/nodes/{name}*/scratch/repo/" for name in ("ada", "bob"))
        until(lambda: "ONE" in found(agent, f"{adas}a.txt"), "ada's change")
        until(lambda: "left behind" in found(agent, f"{bobs}b.txt"), "bob's change")
        before = found(agent, TIP)
        gate.set()
        until(lambda: found(agent, TIP) not in ("", before), "the merge")
        live_home.kill("coordinator killed-merging")

    outcome = change(live_home, project, "killed-merging", meanwhile)
    run = outcome.result["run"]
    result = f"agiraph/{run}/result"
    assert project.git("log", "--format=%s", f"main..{result}").splitlines() == ["ada: ONE"]
    assert len(outcome.completions()) == 1
    assert not list(outcome.run.glob("nodes/ada*/scratch/repo"))

    def bobs() -> str | None:
        return next((b for b in branches(project) if b.startswith(f"agiraph/{run}/bob-")), None)

    kept = until(bobs, "a branch with the work of bob")
    assert project.show(kept, "b.txt") == "left behind"
    until(lambda: not list(outcome.run.glob("nodes/*/scratch/repo")), "the worktrees' end")
    assert_consistent(project)


def test_folder_without_a_repository_is_read_directly(live_home: LiveHome, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("n\n")
    look = bash("ls -d repo > seen.txt; cat $AGIRAPH_INPUT/notes.txt >> seen.txt")
    live_home.plays(by_node(lead("ada"), {"ada": [look, publish("seen")]}))
    outcome = live_home.lead("Look", "--name", "plain", "--input", str(tmp_path))
    assert outcome.published("ada") == {"seen.txt": "n\n"}
    assert not any(kind.startswith("worktree.") for kind in outcome.types())
    assert not (outcome.agent / "repositories").exists()
    assert subprocess.run(["ls", "-A", str(tmp_path)], capture_output=True).stdout == b"notes.txt\n"


def test_partial_clone_is_read_without_worktrees_for_the_reported_reason(
    live_home: LiveHome, project: Checkout, tmp_path: Path
) -> None:
    clone = project.partial_clone("/a.txt")
    before = project.git("status", "--porcelain", "--branch", at=clone)
    script = f"#!/bin/sh\nls -d repo; wc -l < {clone}/a.txt > _result.md\n"
    outside = program(tmp_path, script, "counts")
    (live_home.home / "agents.yaml").write_text(json.dumps({"counts": {"command": [outside]}}))
    hire = spawn("ben", type="autonomous", agent_command="counts")
    steps = [calls(node("ada"), hire, node("ben-node", "ben")), WAIT, finish("All is read.")]
    copy = bash("ls -d repo; cp $AGIRAPH_INPUT/a.txt copy.txt")
    live_home.plays(by_node(steps, {"ada": [copy, publish("copied")]}))
    outcome = live_home.complete("Read it", "--name", "partial", "--input", str(clone))
    assert outcome.published("ada") == {"copy.txt": "one\ntwo\nthree\n"}
    assert outcome.published("ben-node") == {"_result.md": "3\n"}
    [reason] = [off["reason"] for off in outcome.data("worktree.off")]
    assert reason.startswith("it is a partial clone: objects of its last commit are missing (1;")
    assert [kind for kind in outcome.types() if kind.startswith("worktree.")] == ["worktree.off"]
    shown = live_home.command("events", "partial").stdout
    assert "it is a partial clone" in shown
    assert project.git("status", "--porcelain", "--branch", at=clone) == before

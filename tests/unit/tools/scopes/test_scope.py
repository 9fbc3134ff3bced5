"""The scopes of workers and coordinators, and the meaning of their paths."""

import pytest

from agiraph.core.errors import OutOfScope
from agiraph.core.ids import WorkerId
from agiraph.tools.scopes.scope import Scope
from tests.unit.tools.scopes.home_layout import MINE, OTHER, HomeLayout

RUN = "agents/demo/runs/r1"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("draft.md", f"{RUN}/nodes/{MINE}/scratch/draft.md"),
        ("./draft.md", f"{RUN}/nodes/{MINE}/scratch/draft.md"),
        ("../scratch/draft.md", f"{RUN}/nodes/{MINE}/scratch/draft.md"),
        ("_spec.md", f"{RUN}/nodes/{MINE}/_spec.md"),
        ("../published/sub/result.md", f"{RUN}/nodes/{MINE}/published/sub/result.md"),
        (f"nodes/{OTHER}/published/sub/result.md", f"{RUN}/nodes/{OTHER}/published/sub/result.md"),
        (f"nodes/{MINE}/scratch/draft.md", f"{RUN}/nodes/{MINE}/scratch/draft.md"),
        ("notebook.md", f"{RUN}/workers/ada-111111/notebook.md"),
        ("workers/ada-111111/memory.md", f"{RUN}/workers/ada-111111/memory.md"),
        ("identity.md", f"{RUN}/workers/ada-111111/identity.md"),
        ("_plan.md", f"{RUN}/_plan.md"),
        ("_output.md", f"{RUN}/_output.md"),
        ("_messages/0001_a_to_b.md", f"{RUN}/_messages/0001_a_to_b.md"),
        ("_attachments/prices.csv", f"{RUN}/_attachments/prices.csv"),
        ("shared/tool.py", f"{RUN}/shared/tool.py"),
        ("input/table.csv", "files/table.csv"),
    ],
)
def test_worker_reads_permitted_paths(layout: HomeLayout, path: str, place: str) -> None:
    assert layout.worker().to_read(path).read_text() == place


def test_an_absolute_path_serves_inside_the_input_folder(layout: HomeLayout) -> None:
    scope = layout.worker()
    assert scope.to_read(str(layout.input_dir / "table.csv")).read_text() == "files/table.csv"
    with pytest.raises(OutOfScope, match=r"absolute paths serve only .* write 'draft.md'"):
        scope.to_read(str(layout.node.scratch / "draft.md"))
    with pytest.raises(OutOfScope, match="absolute paths serve only inside the input folder"):
        scope.to_read("/etc/passwd")
    with pytest.raises(OutOfScope, match="may not be written"):
        scope.to_write(str(layout.input_dir / "table.csv"))


def test_a_home_in_the_input_folder_is_not_read(layout: HomeLayout) -> None:
    """Nor is the input folder itself; a folder inside of it may be."""
    home, token = layout.root, "system/token"
    scopes = {
        folder: Scope.for_worker(
            layout.agent, layout.run, WorkerId("ada-111111"), layout.node, folder
        )
        for folder in (home.parent, home, home / "system", layout.run.path)
    }
    outer = scopes[home.parent]
    shown = home.relative_to(home.parent)
    (home.parent / "link").symlink_to(home)
    for path in (
        f"input/{shown}/{token}",
        f"input/{shown}",
        f"input/link/{token}",
        str(home / token),
    ):
        with pytest.raises(OutOfScope):
            outer.to_read(path)
    assert not outer.may_list(home / "system")
    assert not outer.is_input(home.parent / str(shown).upper() / "SYSTEM" / "token")
    assert outer.is_input(home.parent / "other.txt")
    assert scopes[home].input_dir is scopes[home / "system"].input_dir is None
    assert scopes[layout.run.path].to_read("input/_plan.md") == layout.run.plan


@pytest.mark.parametrize(
    "path",
    [
        f"nodes/{OTHER}/scratch/draft.md",
        f"nodes/{OTHER}/_spec.md",
        f"nodes/{OTHER}/log.jsonl",
        f"nodes/{OTHER}/published/../scratch/draft.md",
        "workers/ben-222222/notebook.md",
        "workers/ada-111111/../ben-222222/memory.md",
        "journal.jsonl",
        "_plan.md/../journal.jsonl",
        "../../SOUL.md",
        "../../MEMORY.md",
        "../../memory/index.md",
        "../../conversation.jsonl",
        "../r0/_plan.md",
        "scratch/../../../../../../../system/token",
        "input/../system/token",
        "~/x/../../../../../../../../system/token",
    ],
)
def test_worker_cannot_read_other_paths(layout: HomeLayout, path: str) -> None:
    with pytest.raises(OutOfScope):
        layout.worker().to_read(path)


def test_missing_name_is_resolved_in_scratch(layout: HomeLayout) -> None:
    assert layout.worker().to_read("JOURNAL2.jsonl") == layout.node.scratch.resolve() / (
        "JOURNAL2.jsonl"
    )


@pytest.mark.parametrize("path", ["", " ", "a\0b", "x" * 5000, "\ud800"])
def test_irregular_paths_are_refused(layout: HomeLayout, path: str) -> None:
    scope = layout.worker()
    with pytest.raises(OutOfScope):
        scope.to_read(path)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("report.md", "scratch/report.md"),
        ("a/b/report.md", "scratch/a/b/report.md"),
        ("scratch/report.md", "scratch/scratch/report.md"),
        ("published/report.md", "scratch/published/report.md"),
        ("log.jsonl", "scratch/log.jsonl"),
        (f"nodes/{MINE}/scratch/report.md", "scratch/report.md"),
    ],
)
def test_worker_writes_into_its_node_folder(layout: HomeLayout, path: str, place: str) -> None:
    assert layout.worker().to_write(path) == layout.node.path.resolve() / place


def test_a_worker_writes_its_own_notes(layout: HomeLayout) -> None:
    home = layout.run.worker("ada-111111").path.resolve()
    for name in ("notebook.md", "memory.md", "identity.md"):
        assert layout.worker().to_write(name) == home / name


@pytest.mark.parametrize(
    "path",
    [
        "../published/report.md",
        "_spec.md",
        "../_refs.json",
        "../_status.md",
        "_plan.md",
        "shared/tool.py",
        "_messages/0002_x.md",
        "_attachments/prices.csv",
        ".",
        "scratch/..",
        "scratch/../../_spec.md",
        "../../../workers/ada-111111/conversation.jsonl",
        "../../../workers/ben-222222/notebook.md",
        f"nodes/{OTHER}/scratch/x.md",
        f"nodes/{OTHER}/published/x.md",
        "input/new.csv",
        "../../../../../MEMORY.md",
    ],
)
def test_worker_cannot_write_other_paths(layout: HomeLayout, path: str) -> None:
    with pytest.raises(OutOfScope, match=r"may not be written \(possible: your folder, "):
        layout.worker().to_write(path)


def test_link_is_judged_by_its_target(layout: HomeLayout) -> None:
    scratch = layout.node.scratch
    (scratch / "out").symlink_to(layout.root / "system")
    (scratch / "new").symlink_to(layout.root / "system" / "made")
    (scratch / "plan").symlink_to(layout.run.plan)
    (scratch / "loop").symlink_to(scratch / "loop")
    scope = layout.worker()
    for path in ("out/token", "./out/token", "new", "loop/x"):
        with pytest.raises(OutOfScope):
            scope.to_read(path)
    for path in ("out/token", "new", "plan"):
        with pytest.raises(OutOfScope):
            scope.to_write(path)
    assert scope.to_read("plan") == layout.run.plan.resolve()


def test_link_in_the_published_folder_of_another_node_is_refused(layout: HomeLayout) -> None:
    leak = layout.run.node(OTHER).published / "leak.md"
    leak.symlink_to(layout.run.node(OTHER).scratch / "draft.md")
    with pytest.raises(OutOfScope):
        layout.worker().to_read(f"nodes/{OTHER}/published/leak.md")


def test_folders_are_listed_and_private_ones_refused(layout: HomeLayout) -> None:
    scope = layout.worker()
    assert scope.to_list(".") == scope.to_list("") == scope.cwd
    assert scope.to_list("input") == layout.input_dir.resolve()
    assert scope.to_list("nodes") == layout.run.nodes.resolve()
    assert scope.to_list(f"nodes/{OTHER}/published").is_dir()
    assert not scope.may_read(layout.run.node(OTHER).scratch.resolve())
    assert scope.to_list("..") == layout.node.path.resolve()
    for path in ("workers", "workers/ben-222222", f"nodes/{OTHER}", "../../../.."):
        with pytest.raises(OutOfScope):
            scope.to_list(path)


def test_paths_are_shown_as_the_worker_writes_them(layout: HomeLayout) -> None:
    scope = layout.worker()
    assert scope.shown(layout.node.scratch / "a" / "b.md") == "a/b.md"
    assert scope.shown(layout.node.scratch / "nodes/b.md") == f"nodes/{MINE}/scratch/nodes/b.md"
    assert scope.shown(layout.node.spec) == "_spec.md"
    assert scope.shown(scope.cwd) == "."
    assert scope.shown(layout.run.plan) == "_plan.md"
    assert scope.shown(layout.input_dir / "table.csv") == "input/table.csv"
    assert scope.shown(layout.input_dir) == "input"
    assert scope.shown(layout.run.worker("ada-111111").notebook) == "notebook.md"
    assert scope.shown(layout.run.node(OTHER).published) == f"nodes/{OTHER}/published"


def test_an_idle_worker_has_its_notes_and_no_scratch(layout: HomeLayout) -> None:
    scope = Scope.for_worker(layout.agent, layout.run, WorkerId("ada-111111"), None, None)
    assert scope.to_read("_plan.md").exists()
    assert scope.to_write("notebook.md").exists()
    for path in ("x.md", "scratch/x.md"):
        with pytest.raises(OutOfScope):
            scope.to_write(path)
    with pytest.raises(OutOfScope, match="has no input folder"):
        scope.to_read("input/x")


@pytest.mark.parametrize("name", ["journal.jsonl.snapshot", "journal.jsonl.good-20260101T000000Z"])
def test_journal_files_of_a_run_cannot_be_read(layout: HomeLayout, name: str) -> None:
    (layout.run.path / name).write_text("{}")
    with pytest.raises(OutOfScope):
        layout.worker().to_read(name)


# --- the coordinator ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "_plan.md",
        "journal.jsonl",
        f"nodes/{OTHER}/scratch/draft.md",
        f"nodes/{OTHER}/published/sub/result.md",
        "workers/ben-222222/notebook.md",
        "_messages/0001_a_to_b.md",
        "SOUL.md",
        "GOAL.md",
        "MEMORY.md",
        "memory/index.md",
        "input/table.csv",
    ],
)
def test_a_coordinator_reads_the_run_and_its_own_memory(layout: HomeLayout, path: str) -> None:
    assert layout.coordinator().to_read(path).is_file()


@pytest.mark.parametrize(
    "path",
    [
        "../r0/_plan.md",
        "../../conversation.jsonl",
        "../../agent.json",
        "../../../../system/token",
        "memory/../conversation.jsonl",
        "/etc/passwd",
        "input/../system/token",
    ],
)
def test_a_coordinator_reads_nothing_else(layout: HomeLayout, path: str) -> None:
    with pytest.raises(OutOfScope):
        layout.coordinator().to_read(path)


@pytest.mark.parametrize("path", ["_plan.md", "_output.md", "brief.md", "notes/day-1.md"])
def test_a_bare_path_of_a_coordinator_is_the_runs_root(layout: HomeLayout, path: str) -> None:
    scope = layout.coordinator()
    assert scope.to_write(path) == layout.run.path.resolve() / path
    assert scope.cwd == layout.run.path.resolve()


def test_a_coordinator_writes_its_memory(layout: HomeLayout) -> None:
    scope = layout.coordinator()
    assert scope.to_write("MEMORY.md") == layout.agent.memory_file.resolve()
    assert scope.to_write("memory/x/y.md") == layout.agent.memory.resolve() / "x" / "y.md"


@pytest.mark.parametrize(
    "path",
    [
        ".",
        "journal.jsonl",
        "journal.jsonl.snapshot",
        "Journal.JSONL",
        "nodes/x/scratch/y.md",
        f"nodes/{OTHER}/published/x.md",
        "nodes",
        "workers/ada-111111/memory.md",
        "_attachments/prices.csv",
        "_messages/0002_x.md",
        "notes/../journal.jsonl",
        "SOUL.md",
        "GOAL.md",
        "memory",
        "../../agent.json",
        "../../events.jsonl",
        "../r0/_plan.md",
        "input/table.csv",
        "/tmp/x",
    ],
)
def test_coordinator_cannot_write_files_of_others(layout: HomeLayout, path: str) -> None:
    with pytest.raises(OutOfScope):
        layout.coordinator().to_write(path)


def test_a_coordinator_is_shown_places_from_the_runs_root(layout: HomeLayout) -> None:
    scope = layout.coordinator()
    assert scope.shown(layout.run.plan) == "_plan.md"
    assert scope.shown(layout.agent.memory / "index.md") == "memory/index.md"
    assert scope.to_list(".") == layout.run.path.resolve()

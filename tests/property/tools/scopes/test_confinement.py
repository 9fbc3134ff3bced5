"""No path, in any form and with any links, leads to a file that an entity may not use."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.errors import OutOfScope
from agiraph.tools.scopes.scope import Scope
from tests.unit.tools.scopes.home_layout import MINE, OTHER, HomeLayout, build

PARTS = st.sampled_from(
    [
        *("..", ".", "", "scratch", "published", "nodes", "workers", "_messages", "memory"),
        *("input", MINE, OTHER, "mine", "other", "bbbbbb", "ada-111111", "ben-222222"),
        *("_plan.md", "journal.jsonl", "Journal.jsonl", "notebook.md", "SOUL.md", "link"),
        *("runs", "r1", "r0", "agents", "demo", "files", "system", "token", "x", "draft.md"),
    ]
)
PATHS = st.lists(PARTS, min_size=1, max_size=9).map("/".join)
ANYTHING = st.text(max_size=40)


@contextmanager
def home_with_link(link_to: str) -> Iterator[HomeLayout]:
    """Yield a home whose scratch/ and input folder contain a link called `link`."""
    with tempfile.TemporaryDirectory() as folder:
        layout = build(Path(os.path.realpath(folder)))
        for place in (layout.node.scratch, layout.input_dir, layout.run.node(OTHER).published):
            (place / "link").symlink_to(layout.root / link_to)
        yield layout


def may_worker_read(layout: HomeLayout, name: str) -> bool:
    run = "agents/demo/runs/r1/"
    if name.startswith((f"{run}workers/ada-111111/", f"{run}_messages", "files")):
        return True
    if name == f"{run}workers/ada-111111":
        return True
    if name.startswith(f"{run}nodes/"):
        folder, _, inner = name.removeprefix(f"{run}nodes/").partition("/")
        is_own = folder == MINE and inner != "" and not inner.startswith("x")
        return inner.split("/")[0] == "published" or is_own
    rest = name.removeprefix(run)
    return (
        name.startswith(run)
        and "/" not in rest
        and rest.lower()
        not in (
            "journal.jsonl",
            "nodes",
            "workers",
        )
    )


def may_worker_write(layout: HomeLayout, name: str) -> bool:
    run = "agents/demo/runs/r1/"
    own = {f"{run}workers/ada-111111/{n}.md" for n in ("notebook", "memory", "identity")}
    return name.startswith(f"{run}nodes/{MINE}/scratch/") or name in own


def may_coordinator_write(layout: HomeLayout, name: str) -> bool:
    run, agent = "agents/demo/runs/r1/", "agents/demo/"
    if name.startswith(run):
        first = name.removeprefix(run).split("/")[0].lower()
        return first not in ("nodes", "workers", "_messages", "journal.jsonl")
    return name == f"{agent}MEMORY.md" or name.startswith(f"{agent}memory/")


def may_coordinator_read(layout: HomeLayout, name: str) -> bool:
    agent = "agents/demo/"
    own = {f"{agent}{n}" for n in ("SOUL.md", "GOAL.md", "MEMORY.md", "memory", "runs/r1")}
    return name in own or name.startswith((f"{agent}runs/r1/", f"{agent}memory/", "files"))


@given(
    paths=st.lists(PATHS | ANYTHING | PATHS.map(lambda path: f"/{path}"), min_size=5, max_size=20),
    link_to=st.lists(PARTS.filter(lambda part: part != "link"), max_size=5).map("/".join),
)
def test_permitted_paths_are_inside_the_scope(paths: list[str], link_to: str) -> None:
    with home_with_link(link_to) as layout:
        check(layout, layout.worker(), paths, may_worker_read, may_worker_write)
        check(layout, layout.coordinator(), paths, may_coordinator_read, may_coordinator_write)


def check(layout: HomeLayout, scope: Scope, paths: list[str], may_read, may_write) -> None:  # type: ignore[no-untyped-def]
    for path in paths:
        for find, allowed in ((scope.to_read, may_read), (scope.to_write, may_write)):
            try:
                found = find(path)
            except OutOfScope:
                continue
            assert os.path.realpath(found) == str(found)
            assert found.is_relative_to(layout.root), path
            assert allowed(layout, found.relative_to(layout.root).as_posix()), (path, found)

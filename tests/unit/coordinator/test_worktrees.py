"""The coordinator's side of worktrees: creation, merges, and messages to the person."""

from pathlib import Path
from typing import Any, Literal

import pytest

from actors.coordinator.worktrees import RunWorktrees
from agiraph.board.board import Board
from agiraph.core.ids import AgentId, NodeId, RunId, WorkerId
from agiraph.core.models import Worker, WorkNode
from agiraph.core.persistent_map import PersistentMap
from agiraph.tools.worktrees.git import GitFailed, MergeConflict
from agiraph.tools.worktrees.worktree import Worktree
from tests.fakes.fake_runtime import FakeRuntime
from tests.unit.entity.contexts import entity_context
from tests.unit.tools.worktrees.checkout import PATH, RUN, SANDBOX, Checkout, needs_git

pytestmark = needs_git
AGENT = AgentId("shop-1")
RESULT = f"agiraph/{RUN}/result"
ANN = Worker(id=WorkerId("ann-1"), name="ann", type="autonomous")
BOB = Worker(id=WorkerId("bob-1"), name="bob")
ONE_SHOT = ANN.model_copy(update={"mode": "single_inference"})


class CoordinatorWorktrees:
    """A coordinator's worktrees over a person's checkout."""

    def __init__(
        self,
        folder: Path,
        workers: Literal["autonomous", "all", "none"] = "autonomous",
        merge: Literal["branch", "checkout"] = "branch",
    ) -> None:
        self.checkout = Checkout(folder, {"a.txt": "one\n", "b.txt": "b\n"})
        self.runtime = FakeRuntime(folder / "home")
        settings = self.runtime.config.worktrees.model_copy(
            update={"workers": workers, "merge": merge}
        )
        self.runtime.config = self.runtime.config.model_copy(update={"worktrees": settings})
        self.nodes: dict[NodeId, WorkNode] = {}

    def worktrees(self) -> RunWorktrees:
        """Return them as another incarnation has them: from disk alone."""
        context, _ = entity_context(self.runtime.home.path, f"{AGENT}/coordinator", self.runtime)
        context.run = RunId(RUN)
        context.spec = context.spec.model_copy(update={"input": str(self.checkout.path)})
        return RunWorktrees(context, self.checkout.environ)

    @property
    def board(self) -> Board:
        return Board(nodes=PersistentMap(self.nodes))

    def node(self, name: str, status: str = "running", **facts: Any) -> WorkNode:
        values = {"id": f"{name}-id", "name": name, "task": "t", "status": status}
        node = WorkNode.model_validate(values | facts)
        self.nodes[node.id] = node
        return node

    async def made(self, node: WorkNode) -> Worktree:
        """Have a node's worktree made, as its worker would."""
        order = await self.worktrees().order_for(node, ANN)
        assert order is not None
        scratch = self.runtime.home.agent(AGENT).run(RUN).node(node.folder).scratch
        scratch.mkdir(parents=True, exist_ok=True)
        tree = Worktree(order, scratch, 30, PATH, SANDBOX)
        await tree.make()
        return tree

    async def merged(self, name: str, file: str, text: str) -> None:
        """Have a node change a file, and merge that."""
        node = self.node(name)
        tree = await self.made(node)
        (tree.path / file).write_text(text)
        committed = await tree.commit(name)
        assert committed is not None
        await self.worktrees().merge(node, committed.commit)

    def told(self) -> list[str]:
        return [event.type for event in self.runtime.reported]


@pytest.mark.parametrize(
    ("workers", "worker", "gets_one"),
    [
        ("autonomous", ANN, True),
        ("autonomous", BOB, False),
        ("autonomous", ONE_SHOT, False),
        ("all", BOB, True),
        ("none", ANN, False),
    ],
)
async def test_worktree_is_made_only_for_workers_that_edit_files(
    tmp_path: Path, workers: Any, worker: Worker, gets_one: bool
) -> None:
    trees = CoordinatorWorktrees(tmp_path, workers)
    worktrees = trees.worktrees()
    assert worktrees.may_order_for(worker.type, worker.mode) is gets_one
    order = await worktrees.order_for(trees.node("n"), worker)
    assert (order is not None) is gets_one
    assert trees.told() == []


async def test_missing_worktrees_are_reported_once_with_the_reason(tmp_path: Path) -> None:
    trees = CoordinatorWorktrees(tmp_path)
    trees.checkout.git("update-ref", "-d", "refs/heads/main")
    worktrees = trees.worktrees()
    assert await worktrees.order_for(trees.node("n"), ANN) is None
    assert await worktrees.order_for(trees.node("m"), ANN) is None
    assert trees.told() == ["worktree.off"]
    assert "nothing has been committed" in trees.runtime.reported[0].data["reason"]
    assert await worktrees.closing_words(trees.board) == ""


@pytest.mark.parametrize(
    ("folder", "why"),
    [
        ("sub", "it is a folder below {top}, the top of a git checkout"),
        (".git", "it is a bare repository, or the .git of one"),
    ],
)
async def test_folder_that_is_not_a_checkout_is_reported_with_the_reason(
    tmp_path: Path, folder: str, why: str
) -> None:
    trees = CoordinatorWorktrees(tmp_path)
    top = trees.checkout.path
    trees.checkout.write({"sub/c.txt": "c\n"})
    trees.checkout.path = top / folder
    worktrees = trees.worktrees()
    assert await worktrees.order_for(trees.node("n"), ANN) is None
    assert await worktrees.order_for(trees.node("m"), ANN) is None
    assert trees.told() == ["worktree.off"]
    assert trees.runtime.reported[0].data["reason"].startswith(why.format(top=top))


async def test_closing_message_names_the_branch_of_the_changes_and_how_to_merge_it(
    tmp_path: Path,
) -> None:
    trees = CoordinatorWorktrees(tmp_path)
    await trees.merged("ada", "a.txt", "ONE\n")
    await trees.merged("bob", "b.txt", "B\n")
    lost = trees.node("eve", status="failed", reason="no time")
    tree = await trees.made(lost)
    (tree.path / "c.txt").write_text("half\n")
    words = await trees.worktrees().closing_words(trees.board)
    path = trees.checkout.path
    assert f"(2 commits) are on the branch {RESULT} in {path}." in words
    assert f"git -C {path} merge {RESULT}" in words
    branch = f"agiraph/{RUN}/eve-eve-id"
    assert f"the changes of the failed node eve (branch {branch})" in words
    assert trees.checkout.show(branch, "c.txt") == "half"
    assert not tree.path.exists()
    assert trees.checkout.git("rev-parse", "main") != trees.checkout.git("rev-parse", RESULT)
    await trees.worktrees().clear(trees.board)
    assert not list(trees.runtime.home.agent(AGENT).repository(RUN).glob("worktrees/*"))
    assert trees.told() == ["worktree.merged", "worktree.merged"]


async def test_checkout_is_moved_forward_if_configured(tmp_path: Path) -> None:
    trees = CoordinatorWorktrees(tmp_path, merge="checkout")
    await trees.merged("ada", "a.txt", "ONE\n")
    trees.checkout.write({"a.txt": "mine\n"})
    words = await trees.worktrees().closing_words(trees.board)
    assert "Its checkout was left as it is: its checkout cannot be moved forward" in words
    trees.checkout.git("checkout", "-q", "a.txt")
    words = await trees.worktrees().closing_words(trees.board)
    assert "The branch main, checked out there, was moved forward to it." in words
    assert (trees.checkout.path / "a.txt").read_text() == "ONE\n"


async def test_a_checkout_that_commands_may_write_is_not_moved_forward(tmp_path: Path) -> None:
    trees = CoordinatorWorktrees(tmp_path, merge="checkout")
    sandbox = trees.runtime.config.sandbox.model_copy(update={"input": "write"})
    trees.runtime.config = trees.runtime.config.model_copy(update={"sandbox": sandbox})
    await trees.merged("ada", "a.txt", "ONE\n")
    words = await trees.worktrees().closing_words(trees.board)
    assert "left as it is: commands may write it too (sandbox.input: write)" in words
    assert (trees.checkout.path / "a.txt").read_text() == "one\n"


async def test_branch_checked_out_by_the_human_is_not_moved_and_the_fetch_command_is_shown(
    tmp_path: Path,
) -> None:
    trees = CoordinatorWorktrees(tmp_path)
    await trees.merged("ada", "a.txt", "ONE\n")
    trees.checkout.git("checkout", "-q", RESULT)
    await trees.merged("bob", "b.txt", "B\n")
    words = await trees.worktrees().closing_words(trees.board)
    assert "they were not copied into" in words
    assert "is checked out in" in words
    assert f"fetch {trees.runtime.home.agent(AGENT).repository(RUN)} {RESULT}" in words
    assert (trees.checkout.path / "b.txt").read_text() == "b\n"


async def test_merge_conflict_is_reported_and_refused(tmp_path: Path) -> None:
    trees = CoordinatorWorktrees(tmp_path)
    late = trees.node("late")
    tree = await trees.made(late)
    await trees.merged("ada", "a.txt", "ONE\n")
    (tree.path / "a.txt").write_text("uno\n")
    committed = await tree.commit("late")
    assert committed is not None
    with pytest.raises(MergeConflict, match=r"in: a\.txt"):
        await trees.worktrees().merge(late, committed.commit)
    assert trees.told() == ["worktree.merged", "worktree.conflict"]


@pytest.mark.parametrize("status", ["failed", "cancelled"])
async def test_a_worktree_that_cannot_be_saved_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    trees = CoordinatorWorktrees(tmp_path)
    tree = await trees.made(trees.node("eve", status=status))
    (tree.path / "c.txt").write_text("half\n")

    async def fails(_tree: Worktree, _message: str) -> None:
        raise GitFailed("no time")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(Worktree, "commit", fails)
        assert await trees.worktrees().closing_words(trees.board) == ""
        await trees.worktrees().clear(trees.board)
        assert (tree.path / "c.txt").read_text() == "half\n"
    await trees.worktrees().clear(trees.board)
    assert trees.checkout.show(f"agiraph/{RUN}/eve-eve-id", "c.txt") == "half"
    assert not tree.path.exists()

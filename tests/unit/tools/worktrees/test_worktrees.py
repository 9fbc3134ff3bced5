"""Worktrees with real git: made, mended, committed, merged, handed over, and never tricked."""

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from agiraph.core.errors import Refused
from agiraph.storage.files import remove_tree
from agiraph.storage.walk import UnsafeFile
from agiraph.tools.worktrees.git import (
    FOLDER,
    PATCH,
    Git,
    GitFailed,
    MergeConflict,
    object_folders,
)
from agiraph.tools.worktrees.repository import RunRepository
from agiraph.tools.worktrees.source import RepositoryNotUsable
from agiraph.tools.worktrees.worktree import MERGING, READY, NodeCommit, Worktree
from tests.unit.tools.worktrees.checkout import PATH as PROGRAMS
from tests.unit.tools.worktrees.checkout import RUN, SANDBOX, SECONDS, Checkout, needs_git

pytestmark = needs_git
RESULT = f"agiraph/{RUN}/result"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path, {"a.txt": "one\ntwo\nthree\n", "src/b.py": "b = 1\n"})


async def merged(repository: RunRepository, tree: Worktree, message: str) -> str:
    """Commit the files of a worktree and merge it; return the result's commit."""
    commit = committed(await tree.commit(message))
    return await repository.merge(commit, tree.order.branch, "m")


def committed(found: NodeCommit | None) -> str:
    assert found is not None
    return found.commit


async def test_change_of_a_node_is_merged_into_the_result_branch_alone(
    checkout: Checkout,
) -> None:
    before = checkout.git("rev-parse", "HEAD")
    tree = await checkout.worktree("ada")
    assert await tree.make()
    assert (tree.path / "a.txt").read_text() == "one\ntwo\nthree\n"
    (tree.path / "a.txt").write_text("ONE\ntwo\nthree\n")
    (tree.path / "src/b.py").unlink()
    (tree.path / "new").mkdir()
    (tree.path / "new/c d.txt").write_text("c\n")
    commit = committed(await tree.commit("ada: her work"))
    assert committed(await tree.commit("ada: her work")) == commit  # again: nothing new
    repository = checkout.repository()
    assert await repository.merge(commit, tree.order.branch, "merge") == commit
    assert await repository.merge(commit, tree.order.branch, "merge") == commit
    await repository.hand_over()
    await repository.hand_over()
    assert checkout.show(RESULT, "a.txt") == "ONE\ntwo\nthree"
    assert checkout.show(RESULT, "new/c d.txt") == "c"
    assert "b.py" not in checkout.git("ls-tree", "-r", "--name-only", RESULT)
    assert checkout.git("log", "-1", "--format=%an %ae %s", RESULT) == (
        "Ann Person ann@example.org ada: her work"
    )
    assert checkout.git("status", "--porcelain") == ""
    assert checkout.git("rev-parse", "HEAD") == before
    assert checkout.git("branch", "--format=%(refname:short)").split() == [RESULT, "main"]
    assert len(checkout.git("worktree", "list").splitlines()) == 1
    assert await repository.count() == 1
    await tree.remove()
    assert not tree.path.exists()
    assert not tree.is_made
    checkout.git("fsck", "--strict")


async def test_a_node_that_changes_nothing_has_no_commit(checkout: Checkout) -> None:
    tree = await checkout.made("ada")
    assert await tree.commit("nothing") is None
    repository = checkout.repository()
    await repository.hand_over()
    assert checkout.git("branch", "--format=%(refname:short)") == "main"


LOGGED = """#!/bin/sh
case "$*" in *"worktree add"*) echo begin >> "{log}";; esac
"{git}" "$@"
code=$?
case "$*" in *"worktree add"*) echo end >> "{log}";; esac
exit $code
"""


async def test_worktrees_that_several_workers_make_at_once_are_made_one_after_the_other(
    checkout: Checkout, tmp_path: Path
) -> None:
    wrapper, log = tmp_path / "bin" / "git", tmp_path / "log"
    wrapper.parent.mkdir()
    wrapper.write_text(LOGGED.format(log=log, git=shutil.which("git")))
    wrapper.chmod(0o755)
    search = f"{wrapper.parent}{os.pathsep}{PROGRAMS}"
    made = [await checkout.worktree(name) for name in ("ada", "bob", "eve")]
    trees = [Worktree(tree.order, tree.path.parent, SECONDS, search, SANDBOX) for tree in made]
    assert await asyncio.gather(*(tree.make() for tree in trees)) == [True] * 3
    assert log.read_text().split() == ["begin", "end"] * 3


async def test_changes_of_different_lines_are_merged_and_included_in_a_third_node(
    checkout: Checkout,
) -> None:
    ada, bob = await checkout.worktree("ada"), await checkout.worktree("bob")
    await asyncio.gather(ada.make(), bob.make())
    (ada.path / "a.txt").write_text("ONE\ntwo\nthree\n")
    (bob.path / "src/b.py").write_text("b = 2\n")
    repository = checkout.repository()
    for tree in (ada, bob):
        commit = committed(await tree.commit(tree.order.branch))
        await repository.merge(commit, tree.order.branch, f"Merge {tree.order.branch}")
    await repository.hand_over()
    assert checkout.show(RESULT, "a.txt").startswith("ONE")
    assert checkout.show(RESULT, "src/b.py") == "b = 2"
    parents = checkout.git("log", "-1", "--format=%p", RESULT).split()
    assert len(parents) == 2
    third = await checkout.made("eve")
    assert (third.path / "a.txt").read_text().startswith("ONE")
    assert (third.path / "src/b.py").read_text() == "b = 2\n"


async def test_conflict_leaves_the_result_unchanged_and_is_resolved_in_the_worktree(
    checkout: Checkout,
) -> None:
    ada, bob = await checkout.made("ada"), await checkout.made("bob")
    (ada.path / "a.txt").write_text("ONE\ntwo\nthree\n")
    (bob.path / "a.txt").write_text("uno\ntwo\nthree\n")
    (bob.path / "bobs.txt").write_text("bob\n")
    repository = checkout.repository()
    await merged(repository, ada, "ada")
    tip = await repository.tip()
    commit = committed(await bob.commit("bob"))
    with pytest.raises(MergeConflict, match=r"in: a\.txt$") as refused:
        await repository.merge(commit, bob.order.branch, "m")
    assert refused.value.files == ("a.txt",)
    assert await repository.tip() == tip
    folded = await bob.apply_merge()
    assert folded.files == ("a.txt",)
    assert "<<<<<<< " in (bob.path / "a.txt").read_text()
    with pytest.raises(Refused, match=r"conflict markers are left in a\.txt"):
        await bob.commit("bob")
    (bob.path / "a.txt").write_text("ONE, uno\ntwo\nthree\n")
    solved = committed(await bob.commit("bob solved it"))
    assert await repository.merge(solved, bob.order.branch, "m") == solved
    await repository.hand_over()
    assert checkout.show(RESULT, "a.txt").startswith("ONE, uno")
    assert checkout.show(RESULT, "bobs.txt") == "bob"


async def test_interrupted_merge_into_a_worktree_is_repeated_before_a_commit(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = await checkout.made("ada"), await checkout.made("bob")
    (ada.path / "adas.txt").write_text("ada\n")
    (ada.path / "a.txt").write_text("ada\n")
    (bob.path / "a.txt").write_text("bob\n")
    repository = checkout.repository()
    await merged(repository, ada, "ada")
    await bob.commit("bob")
    run_git = Git.run

    async def exits_after_the_call(self: Git, *words: str, **how: Any) -> Any:
        if words[0] == "read-tree":
            raise KeyboardInterrupt
        return await run_git(self, *words, **how)

    with monkeypatch.context() as patched:
        patched.setattr(Git, "run", exits_after_the_call)
        with pytest.raises(KeyboardInterrupt):
            await bob.apply_merge()
    with pytest.raises(Refused, match="not published"):
        await bob.commit("bob")
    assert (bob.path / "adas.txt").exists()
    (bob.path / "a.txt").write_text("both\n")
    commit = committed(await bob.commit("bob"))
    await repository.merge(commit, bob.order.branch, "m")
    await repository.hand_over()
    assert checkout.show(RESULT, "adas.txt") == "ada"


async def test_a_half_made_worktree_is_made_again_and_a_made_one_is_kept(
    checkout: Checkout,
) -> None:
    tree = await checkout.made("ada")
    admin = next((Path(tree.order.repository) / "worktrees").iterdir())
    (tree.path / "mine.txt").write_text("kept\n")
    assert not await tree.make()
    assert (tree.path / "mine.txt").exists()
    for lost in (("ready",), ("folder",), ("ready", "HEAD", "folder"), ("ready", ".git")):
        places = {"ready": admin / READY, "HEAD": admin / "HEAD", ".git": tree.path / ".git"}
        for what in lost:
            remove_tree(places.get(what, tree.path))
        assert await tree.make()
        assert (tree.path / "a.txt").exists()
        admin = next((Path(tree.order.repository) / "worktrees").iterdir())
    assert not (tree.path / "mine.txt").exists()
    assert await tree.commit("nothing") is None


async def test_a_repository_that_was_half_made_is_made_again(checkout: Checkout) -> None:
    repository = checkout.repository()
    part = repository.path.with_name("r1.git.part")
    (part / "objects").mkdir(parents=True)
    (repository.path / "refs").mkdir(parents=True)
    assert not repository.exists
    await repository.make()
    assert repository.about.branch == "main"
    assert await repository.tip() == checkout.git("rev-parse", "HEAD")


HOOKS = (
    *("post-checkout", "reference-transaction", "post-merge", "update", "post-index-change"),
    "pre-commit",
)
PROGRAMS_NAMED = (
    *("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass"),
    *("filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.textconv"),
    *("diff.x.command", "merge.x.driver", "diff.external", "gpg.program", "alias.ls-files"),
)


def set_trap(checkout: Checkout, repository: Path, proof: Path) -> None:
    """Let whatever program a git in this repository runs make the file `proof`."""
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in HOOKS:
        (hooks / hook).write_text(f"#!/bin/sh\ntouch {proof}\n")
        (hooks / hook).chmod(0o755)
    for key in PROGRAMS_NAMED:
        checkout.git("config", key, f"touch {proof}; cat", at=repository)


async def test_no_file_of_a_worktree_makes_git_run_a_program(checkout: Checkout) -> None:
    proof = checkout.root / "proof"
    set_trap(checkout, checkout.path, proof)
    tree = await checkout.made("ada")
    (tree.path / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    (tree.path / "a.txt").write_text("changed\n")
    inner = tree.path / "inner"
    inner.mkdir()
    checkout.git("init", "-q", at=inner)
    (inner / "f").write_text("f\n")
    (inner / ".gitattributes").write_text("* filter=x\n")
    checkout.git("add", "-A", at=inner)
    checkout.git("commit", "-q", "-m", "inner", at=inner)
    (inner / "f").write_text("changed\n")
    set_trap(checkout, inner, proof)
    (tree.path / "out").symlink_to("/etc")
    found = await tree.commit("ada")
    assert found is not None
    assert found.left_out == ("inner",)
    repository = checkout.repository()
    await repository.merge(found.commit, tree.order.branch, "m")
    await tree.write_patch(found.commit)
    await repository.hand_over()
    assert not proof.exists()
    assert "inner" not in checkout.git("ls-tree", "-r", "--name-only", RESULT)
    assert "+changed" in (tree.path.parent / PATCH).read_text()


@pytest.mark.parametrize("form", ["folder", "file"])
async def test_worktree_with_a_forged_repository_makes_git_run_nothing(
    checkout: Checkout, form: str
) -> None:
    """Its own `.git` is a model's file like all others: its content is never used."""
    proof, victim = checkout.root / "proof", checkout.root / "victim"
    victim.mkdir()
    checkout.write({"a.txt": "of the result\n"})
    tree = await checkout.made("ada")
    (tree.path / ".git").unlink()
    hidden = tree.path if form == "folder" else tree.path.parent / "hidden"
    hidden.mkdir(exist_ok=True)
    checkout.git("init", "-q", at=hidden)
    if form == "file":
        (tree.path / ".git").write_text(f"gitdir: {hidden}/.git\n")
    set_trap(checkout, hidden, proof)
    checkout.git("config", "core.worktree", str(victim), at=hidden)
    checkout.git("config", "commit.gpgSign", "true", at=hidden)
    (tree.path / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    (tree.path / "a.txt").write_text("changed\n")
    commit = committed(await tree.commit("ada"))
    await tree.apply_merge()
    await tree.write_patch(commit)
    assert checkout.git("show", f"{commit}:a.txt", at=checkout.repository().path) == "changed"
    assert not proof.exists()
    assert os.listdir(victim) == []
    checkout.git("status", at=hidden)
    assert proof.exists(), "the trap itself does not work"
    proof.unlink()
    await tree.remove()
    assert not proof.exists()


@pytest.mark.skipif(not SANDBOX.is_up, reason="bubblewrap does not work here")
async def test_git_on_a_worktree_sees_and_writes_nothing_else_of_the_disk(
    checkout: Checkout,
) -> None:
    """A model's process may exchange a folder for a link between two system calls of git."""
    secret, tree = checkout.root / "secret", await checkout.made("ada")
    secret.mkdir()
    (secret / "token").write_text("secret")
    admin = tree._admin()
    assert admin is not None
    git = tree._inside(admin)
    (tree.path / "plain").write_text("plain")
    assert len(await git.text("hash-object", "-w", str(tree.path / "plain"))) == 40
    for place in (secret / "token", checkout.path / "a.txt", Path("/etc/shadow")):
        with pytest.raises(GitFailed, match="No such file"):
            await git.run("hash-object", "-w", str(place))
    with pytest.raises(GitFailed):
        await git.run("config", "--file", str(secret / "config"), "a.b", "c")
    assert os.listdir(secret) == ["token"]
    tree.path.rename(tree.path.with_name("moved"))
    tree.path.symlink_to(secret)
    with pytest.raises(GitFailed):
        await git.run("ls-files", "--others")
    assert await checkout.repository().count() == 0


async def test_objects_are_found_over_several_repositories(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, {"a.txt": "one\n"})
    shared = tmp_path / "shared"
    checkout.git("clone", "-q", "--shared", str(checkout.path), str(shared))
    borrower = tmp_path / "borrower.git"
    checkout.git("init", "-q", "--bare", str(borrower))
    (borrower / "objects/info/alternates").write_text(f"# of both\n{shared}/.git/objects\n")
    found = [shared / ".git/objects", checkout.path / ".git/objects"]
    assert object_folders(borrower) == [one.resolve() for one in found]


async def test_no_worktree_is_made_behind_a_link(checkout: Checkout) -> None:
    tree = await checkout.worktree("ada")
    elsewhere = checkout.root / "elsewhere"
    elsewhere.mkdir()
    scratch = tree.path.parent
    scratch.rmdir()
    scratch.symlink_to(elsewhere)
    with pytest.raises(UnsafeFile, match="scratch is a symbolic link"):
        await tree.make()
    assert os.listdir(elsewhere) == []


async def test_patch_replaces_an_existing_file_and_does_not_follow_links(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agiraph.tools.worktrees.worktree.PATCH_BYTES", 200)
    tree = await checkout.made("ada")
    (tree.path / "a.txt").write_text("changed\n" * 100)
    commit = committed(await tree.commit("ada"))
    patch, secret = tree.path.parent / PATCH, checkout.root / "secret"
    secret.write_text("secret")
    patch.symlink_to(secret)
    await tree.write_patch(commit)
    patch.unlink()
    os.mkfifo(patch)
    await tree.write_patch(commit)
    text = patch.read_text()
    assert text[200:] == f"\n[cut off here; all of it: branch {tree.order.branch}]\n"
    assert secret.read_text() == "secret"


async def test_files_folders_and_links_of_a_node_are_committed(
    checkout: Checkout,
) -> None:
    checkout.write({"d/e/f.txt": "f\n", "x y/ü.txt": "u\n", "run.sh": "echo\n"})
    checkout.git("add", "-A")
    checkout.git("commit", "-q", "-m", "more")
    tree = await checkout.made("ada")
    shutil.rmtree(tree.path / "src")
    (tree.path / "src").symlink_to("/etc")
    (tree.path / "a.txt").unlink()
    (tree.path / "a.txt").mkdir()
    (tree.path / "a.txt/inner").write_text("i\n")
    shutil.rmtree(tree.path / "d")
    (tree.path / "d").write_text("a file now\n")
    (tree.path / "run.sh").chmod(0o755)
    (tree.path / ".gitignore").write_text("*.log\n")
    (tree.path / "x y/ü.log").write_text("ignored\n")
    commit = committed(await tree.commit("ada"))
    listed = checkout.git("ls-tree", "-r", commit, at=Path(tree.order.repository))
    rows = {name: about for about, name in (r.split("\t") for r in listed.splitlines())}
    assert set(rows) == {
        ".gitignore",
        "a.txt/inner",
        "d",
        "run.sh",
        "src",
        '"x y/\\303\\274.txt"',
    }
    assert rows["src"].startswith("120000")
    assert rows["run.sh"].startswith("100755")


async def test_a_worktree_that_was_replaced_by_a_link_is_not_published(checkout: Checkout) -> None:
    tree = await checkout.made("ada")
    shutil.rmtree(tree.path)
    tree.path.symlink_to("/etc")
    with pytest.raises(Refused, match="is gone"):
        await tree.commit("ada")
    await tree.remove()
    assert not tree.path.is_symlink()


async def test_commits_that_a_model_made_itself_are_kept_in_the_history(checkout: Checkout) -> None:
    tree = await checkout.made("ada")
    (tree.path / "a.txt").write_text("first\n")
    checkout.git("commit", "-q", "-a", "-m", "by itself", at=tree.path)
    (tree.path / "a.txt").write_text("second\n")
    commit = committed(await tree.commit("the rest"))
    repository = checkout.repository()
    await repository.merge(commit, tree.order.branch, "m")
    await repository.hand_over()
    assert checkout.git("log", "--format=%s", RESULT).splitlines() == [
        *("the rest", "by itself", "first")
    ]
    assert checkout.git("status", "--porcelain", at=tree.path) == ""


async def test_own_commits_on_the_result_branch_are_not_overwritten(
    checkout: Checkout,
) -> None:
    ada = await checkout.made("ada")
    (ada.path / "a.txt").write_text("ada\n")
    repository = checkout.repository()
    await merged(repository, ada, "ada")
    await repository.hand_over()
    bob = await checkout.made("bob")
    (bob.path / "src/b.py").write_text("bob\n")
    await merged(repository, bob, "bob")
    checkout.git("checkout", "-q", RESULT)
    with pytest.raises(RepositoryNotUsable, match="is checked out in"):
        await repository.hand_over()
    checkout.git("commit", "-q", "--allow-empty", "-m", "mine")
    checkout.git("checkout", "-q", "main")
    with pytest.raises(RepositoryNotUsable, match="has been changed there"):
        await repository.hand_over()
    assert checkout.git("log", "-1", "--format=%s", RESULT) == "mine"


async def test_the_checkout_is_moved_forward_only_if_nothing_of_the_persons_is_lost(
    checkout: Checkout,
) -> None:
    ada = await checkout.made("ada")
    (ada.path / "a.txt").write_text("ada\n")
    repository = checkout.repository()
    await merged(repository, ada, "ada")
    await repository.hand_over()
    checkout.write({"a.txt": "mine, not committed\n"})
    with pytest.raises(RepositoryNotUsable, match="cannot be moved forward"):
        await repository.advance()
    assert (checkout.path / "a.txt").read_text() == "mine, not committed\n"
    checkout.git("checkout", "-q", "a.txt")
    await repository.advance()
    await repository.advance()
    assert (checkout.path / "a.txt").read_text() == "ada\n"
    assert checkout.git("status", "--porcelain") == ""
    checkout.git("checkout", "-q", "--detach")
    with pytest.raises(RepositoryNotUsable, match="no longer checked out"):
        await repository.advance()


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        ("empty", "nothing has been committed"),
        ("elsewhere", "the checkout of its repository is "),
        ("broken", "not a git repository"),
    ],
)
async def test_folder_without_worktrees_has_a_reason(
    tmp_path: Path, spoil: str, expected: str
) -> None:
    checkout = Checkout(tmp_path, {"sub/a.txt": "a\n"})
    if spoil == "empty":
        shutil.rmtree(checkout.path / ".git")
        checkout.git("init", "-q")
    elif spoil == "elsewhere":
        checkout.git("config", "core.worktree", str(checkout.path / "sub"))
    else:
        (checkout.path / ".git/HEAD").unlink()
    with pytest.raises(RepositoryNotUsable, match=expected):
        await checkout.repository().make()


async def test_clone_that_lacks_files_of_its_last_commit_is_refused(tmp_path: Path) -> None:
    origin = Checkout(tmp_path, {"a.txt": "a\n", "sub/b.txt": "b\n", "sub/c.txt": "c\n"})
    source, origin.path = origin.path, origin.partial_clone("/a.txt")
    with pytest.raises(RepositoryNotUsable, match=r"it is a partial clone: .* missing \(2;"):
        await origin.repository().make()
    blob = origin.git("rev-parse", "HEAD:sub/b.txt", at=source)
    (source / ".git/objects" / blob[:2] / blob[2:]).unlink()
    origin.path = source
    with pytest.raises(RepositoryNotUsable, match=r"^objects of its last commit are missing \(1;"):
        await origin.repository().make()


async def test_partial_clone_with_all_files_of_its_last_commit_serves_as_input(
    tmp_path: Path,
) -> None:
    origin = Checkout(tmp_path, {"a.txt": "a\n"})
    origin.write({"a.txt": "b\n"})
    origin.git("commit", "-q", "-a", "-m", "second")
    origin.git("config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    origin.git("clone", "-q", "--filter=blob:none", f"file://{origin.path}", str(partial))
    origin.path = partial
    tree = await origin.worktree("ada")
    await tree.make()
    (tree.path / "a.txt").write_text("c\n")
    repository = origin.repository()
    await merged(repository, tree, "ada")
    await repository.hand_over()
    assert origin.show(RESULT, "a.txt") == "c"


async def test_a_shallow_clone_and_a_worktree_of_the_persons_serve_as_input(tmp_path: Path) -> None:
    origin = Checkout(tmp_path, {"a.txt": "a\n"})
    origin.write({"a.txt": "b\n"})
    origin.git("commit", "-q", "-a", "-m", "second")
    shallow = tmp_path / "shallow"
    origin.git("clone", "-q", "--depth=1", f"file://{origin.path}", str(shallow))
    linked = tmp_path / "linked"
    origin.git("worktree", "add", "-q", "-b", "other", str(linked))
    for number, folder in enumerate((shallow, linked)):
        origin.path, origin.root = folder, tmp_path / str(number)
        tree = await origin.worktree("ada")
        await tree.make()
        (tree.path / "a.txt").write_text("c\n")
        repository = origin.repository()
        await merged(repository, tree, "ada")
        await repository.hand_over()
        assert origin.show(RESULT, "a.txt") == "c"


async def test_a_git_that_hangs_is_ended_at_its_deadline(tmp_path: Path) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "git").chmod(0o755)
    with pytest.raises(GitFailed, match=r"git version took longer than 0\.1 s"):
        await Git((), 0.1, path=f"{tmp_path}:/usr/bin:/bin").run("version")
    with pytest.raises(GitFailed, match="cannot be started"):
        await Git((), 5, path=str(tmp_path / "nothing")).run("version")


async def test_old_locks_of_a_killed_git_are_removed(checkout: Checkout) -> None:
    tree = await checkout.made("ada")
    (tree.path / "a.txt").write_text("ada\n")
    repository = checkout.repository()
    places = [
        repository.path / f"refs/heads/{tree.order.branch}.lock",
        repository.path / f"refs/heads/{RESULT}.lock",
        checkout.path / f".git/refs/heads/{RESULT}.lock",
    ]
    for lock in places:
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.touch()
        os.utime(lock, (1, 1))
    await merged(repository, tree, "ada")
    await repository.hand_over()
    assert checkout.show(RESULT, "a.txt") == "ada"
    repository.forget_worktrees()
    assert not repository.has_worktrees


async def test_a_folder_that_was_made_unwritable_is_removed_all_the_same(
    checkout: Checkout,
) -> None:
    tree = await checkout.made("ada")
    (tree.path / "src").chmod(0o500)
    await tree.remove()
    assert not tree.path.exists()


async def test_merge_record_is_removed_by_the_commit(checkout: Checkout) -> None:
    ada = await checkout.made("ada")
    await ada.apply_merge()
    assert await ada.commit("nothing") is None
    assert not list(Path(ada.order.repository).glob(f"worktrees/*/{MERGING}"))
    assert ada.path.name == FOLDER

"""Checkout: a person's git repository in a temporary folder, and a run's repository made of it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agiraph.core.ids import NodeId, RunId
from agiraph.core.models import WorktreeOrder
from agiraph.settings.config import load_config
from agiraph.tools.sandbox.sandbox import find_sandbox
from agiraph.tools.worktrees.git import node_branch
from agiraph.tools.worktrees.repository import RunRepository
from agiraph.tools.worktrees.source import SourceRepository
from agiraph.tools.worktrees.worktree import Worktree

RUN = RunId("r1")
SECONDS = 30.0
PATH = os.environ.get("PATH", os.defpath)
SANDBOX = find_sandbox(load_config().sandbox)
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


class Checkout:
    """A person's repository with one commit on `main` that contains `files`."""

    def __init__(self, root: Path, files: dict[str, str]) -> None:
        self.root = root
        self.path = root / "project"
        self.path.mkdir()
        self.home = root / "person"
        self.home.mkdir()
        settings = "[user]\n\tname = Ann Person\n\temail = ann@example.org\n"
        (self.home / ".gitconfig").write_text(settings)
        self.environ = {"PATH": PATH, "HOME": str(self.home)}
        self.git("init", "-q", "-b", "main")
        self.write(files)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "first")

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(text)

    def git(self, *words: str, at: Path | None = None) -> str:
        """Run git as the person would; return its output."""
        done = subprocess.run(
            ["git", *words],
            cwd=at or self.path,
            env=self.environ,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def partial_clone(self, *checked_out: str) -> Path:
        """Return a clone that has only these files (`/a.txt`); the others are fetched on demand."""
        self.git("config", "uploadpack.allowFilter", "true")
        clone = self.root / "partial"
        words = ("clone", "-q", "--filter=blob:none", "--no-checkout")
        self.git(*words, f"file://{self.path}", str(clone))
        self.git("sparse-checkout", "set", "--no-cone", *checked_out, at=clone)
        self.git("checkout", "-q", "main", at=clone)
        return clone

    def show(self, branch: str, name: str) -> str:
        """Return a file as a branch of the person's repository has it."""
        return self.git("show", f"{branch}:{name}")

    def source(self) -> SourceRepository:
        return SourceRepository(self.path, SECONDS, self.environ)

    def repository(self) -> RunRepository:
        """Return the run's repository as another incarnation of its coordinator would see it."""
        path = self.root / "repositories" / "r1.git"
        return RunRepository(path, RUN, self.source(), SECONDS, self.environ)

    async def worktree(self, name: str) -> Worktree:
        """Return the worktree of a node called `name`, not made yet."""
        repository = self.repository()
        await repository.make()
        order = WorktreeOrder(
            repository=str(repository.path),
            branch=node_branch(RUN, name, NodeId("abc123")),
            base=await repository.tip(),
            result=repository.result,
        )
        scratch = self.root / "nodes" / name / "scratch"
        scratch.mkdir(parents=True, exist_ok=True)
        return Worktree(order, scratch, SECONDS, PATH, SANDBOX)

    async def made(self, name: str) -> Worktree:
        """Return the worktree of a node called `name`, made."""
        tree = await self.worktree(name)
        await tree.make()
        return tree

"""HomeLayout: an agent's home on disk with two nodes, two workers and an input folder."""

from dataclasses import dataclass
from pathlib import Path

from agiraph.core.ids import WorkerId
from agiraph.storage.home import AgentHome, NodeHome, RunHome, plan_copy
from agiraph.tools.scopes.scope import Scope

MINE = "mine"
OTHER = "other"


@dataclass(frozen=True)
class HomeLayout:
    """The files of a home; each contains its own relative path."""

    root: Path
    agent: AgentHome
    run: RunHome
    node: NodeHome
    input_dir: Path

    def worker(self, **refs: str) -> Scope:
        return Scope.for_worker(
            self.agent, self.run, WorkerId("ada-111111"), self.node, self.input_dir, refs=refs
        )

    def coordinator(self) -> Scope:
        return Scope.for_coordinator(self.agent, self.run, self.input_dir)


def build(root: Path) -> HomeLayout:
    """Create this home under `root`."""
    agent = AgentHome(root / "agents" / "demo")
    run = agent.run("r1")
    layout = HomeLayout(root, agent, run, run.node(MINE), root / "files")
    for folder in (MINE, OTHER):
        node = run.node(folder)
        for file in (node.spec, node.refs, node.status, node.log):
            _write(root, file)
        _write(root, node.scratch / "draft.md")
        _write(root, node.published / "sub" / "result.md")
    for worker in ("ada-111111", "ben-222222"):
        home = run.worker(worker)
        for file in (home.identity, home.memory, home.notebook, home.conversation):
            _write(root, file)
    for file in (
        *(run.plan, plan_copy(run.path), run.output, run.journal, run.messages / "0001_a_to_b.md"),
        *(run.attachments / "prices.csv", run.shared / "tool.py"),
        *(agent.soul, agent.goal, agent.memory_file, agent.memory / "index.md"),
        *(agent.conversation, agent.events, agent.record, agent.run("r0").plan),
        *(root / "files" / "table.csv", root / "system" / "token"),
    ):
        _write(root, file)
    return layout


def _write(root: Path, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(str(file.relative_to(root)))

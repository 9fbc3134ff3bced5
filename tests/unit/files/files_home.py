"""A home on disk with an agent, two workers and their nodes, for tests of the service `files`."""

from pathlib import Path

from agiraph.board.commands import AssignNode, CreateNode, SpawnWorker, StartRun
from agiraph.board.store import BoardStore
from agiraph.core.ids import AgentId, RunId
from agiraph.core.models import Agent
from agiraph.core.specs import NodeSpec, WorkerSpec
from agiraph.storage.files import replace_file
from agiraph.storage.home import Home, NodeHome

RUN = RunId("r1")
AGENT = AgentId("survey-1")


class FilesHome:
    """`ada` holds the node `tables`, `bob` the node `texts`; ids and folders by these names."""

    def __init__(self, folder: Path, agent: AgentId = AGENT, *, home: Home | None = None) -> None:
        self.home = home or Home(folder / "home")
        self.input = folder / "given"
        self.agent = self.home.agent(agent)
        self.run = self.agent.run(RUN)
        board = BoardStore(self.run.journal)
        begin = {"run_id": RUN, "goal": "Survey", "model": "a/b", "worker_model": "c/d"}
        board.execute(StartRun.model_validate({**begin, "max_nodes": 9, "max_workers": 9}), 1.0)
        for name, node in (("ada", "tables"), ("bob", "texts")):
            board.execute(SpawnWorker(f"w-{name}", WorkerSpec(name=name)), 2.0)
            board.execute(CreateNode(f"c-{node}", NodeSpec(task=f"do {node}", name=node)), 2.0)
            board.execute(AssignNode(node, name), 3.0)
        self.ids = {worker.name: worker.id for worker in board.board.workers.values()}
        self.folders = {node.name: node.folder for node in board.board.nodes.values()}
        self.board = board
        facts = {"name": "Survey", "goal": "Survey", "model": "a/b", "worker_model": "c/d"}
        self.record = Agent.model_validate(
            {**facts, "id": agent, "run": RUN, "created_at": 1.0, "updated_at": 1.0}
        )
        self.give(self.input)

    def give(self, folder: Path) -> None:
        """Make a folder the input of the agent."""
        self.input = folder
        record = self.record.model_copy(update={"input": str(folder)})
        replace_file(self.agent.record, record.model_dump_json())

    def address(self, name: str) -> str:
        return f"{self.record.id}/{self.ids[name]}"

    def own(self, name: str) -> str:
        """Return a worker's folder as it is named in requests."""
        return f"runs/{RUN}/workers/{self.ids[name]}"

    def node(self, name: str) -> str:
        return f"runs/{RUN}/nodes/{self.folders[name]}"

    def node_home(self, name: str) -> NodeHome:
        return self.run.node(self.folders[name])

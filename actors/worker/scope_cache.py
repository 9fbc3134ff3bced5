"""ScopeCache: what a worker may touch while it holds a node; looked up on disk once a node."""

from pathlib import Path

from actors.entity.args import WorkerArgs
from agiraph.core.config import SandboxConfig
from agiraph.core.ids import NodeId
from agiraph.core.models import WorkNode
from agiraph.storage.home import Home
from agiraph.tools.scopes.scope import Scope


class ScopeCache:
    """The reach of one worker."""

    def __init__(self, home: Home, args: WorkerArgs, sandbox: SandboxConfig) -> None:
        """Know whose it is."""
        self._agent = home.agent(args.agent)
        self._run = self._agent.run(args.run)
        self._args = args
        self._has_network = sandbox.has_network(args.worker.name, args.worker.role)
        self._known: tuple[NodeId, Scope] | None = None

    def of(self, node: WorkNode) -> Scope:
        """Return the scope of the worker with a node in its hands."""
        if self._known is None or self._known[0] != node.id:
            input_dir = Path(self._args.input_dir) if self._args.input_dir else None
            folder = self._run.node(node.folder)
            worker = self._args.worker.id
            scope = Scope.for_worker(
                self._agent, self._run, worker, folder, input_dir, has_network=self._has_network
            )
            self._known = node.id, scope
        return self._known[1]

"""Graph: nodes and their dependencies, built in Python, read from a plan file or from a board.

All three are the same model: a graph becomes a plan file (`to_yaml`), the file fills a board, and
the graph of the board is the same again.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import yaml
from pydantic import ValidationError

from agiraph.board.board import Board
from agiraph.board.plans import drawing
from agiraph.board.plans.plan import Plan, PlanNode, graph_mistakes, parse_plan
from agiraph.board.plans.reading import MANAGER, GraphNode, misfits, shown_path
from agiraph.core.errors import InvalidInput
from agiraph.core.specs import PlannedTerms, WorkerSpec
from agiraph.settings.yaml_text import read_text

GraphForm = Literal["tree", "mermaid", "dot", "svg", "html", "json"]

OF_WORKER: Final = ("model", "agent_command")
"""The fields of a graph's node that describe its named worker."""

DUMPER: Any = type("PlanDumper", (getattr(yaml, "CSafeDumper", yaml.SafeDumper),), {})
DUMPER.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
    ),
)


def to_yaml(plan: Mapping[str, Any]) -> str:
    """Return the YAML text of a plan file with these plain values."""
    text: str = yaml.dump(plan, Dumper=DUMPER, sort_keys=False, allow_unicode=True, width=100)
    return text


class Node(GraphNode):
    """A node of a plan file: `Node(id="n1", task="Research Company A", role="worker")`.

    Its arguments are the keys of a node in docs/plans.md. Raises InvalidInput, which names each
    wrong argument and the possible values.
    """

    if not TYPE_CHECKING:  # for a type checker its arguments are its fields

        def __init__(self, **given: Any) -> None:
            try:
                super().__init__(**given)
            except ValidationError as error:
                called = f"node {given.get('id', '')!r}"
                told = (
                    f"{called}: {shown_path(path)}: {why}" if path else f"{called}: {why}"
                    for path, why in misfits(GraphNode, error)
                )
                raise InvalidInput("\n".join(told)) from None


class Graph:
    """Nodes with unique ids, in order of addition; `goal` is for readers.

    `statuses` has the final states of nodes by their ids, in a graph that was read from a board.
    """

    def __init__(self, nodes: Iterable[Node] = (), *, goal: str | None = None) -> None:
        self.goal = goal
        self.nodes: list[Node] = []
        self.statuses: dict[str, str] = {}
        self._ids: set[str] = set()
        for node in nodes:
            self.add_node(node)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and (self.goal, self.nodes) == (other.goal, other.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"<Graph of {len(self.nodes)} nodes>"

    def __str__(self) -> str:
        return self.to_tree() if self.nodes else repr(self)

    @classmethod
    def load(cls, path: str | Path) -> "Graph":
        """Return the graph of a plan file of either form.

        Raises InvalidInput, which names line and key.
        """
        return cls.parse(read_text(Path(path)), str(path))

    @classmethod
    def parse(cls, text: str, name: str = "plan") -> "Graph":
        """Return the graph of a plan's text. Raises InvalidInput, which calls it `name`."""
        return cls.from_plan(parse_plan(text, name))

    @classmethod
    def from_plan(cls, plan: Plan) -> "Graph":
        """Return the graph of a plan's nodes; raises InvalidInput as `validate`.

        Of the plan's contract only its effect on dependencies is kept.
        """
        workers = {worker.name: worker for worker in plan.workers}
        graph = cls((_of_plan(node, workers) for node in plan.nodes), goal=plan.goal)
        graph.validate()
        return graph

    @classmethod
    def from_board(cls, board: Board) -> "Graph":
        """Return the nodes of a board, with the status of each node.

        Implicit inputs become explicit, so the graph can be run again: the workers that nodes were
        reserved for, sub-nodes as dependencies of their parent, and the nodes of the previous stage
        for a node without dependencies. A node that was done for each item of a list is a single
        node again.
        """
        workers = {worker.id: worker for worker in board.workers.values()}
        named: dict[str, WorkerSpec] = {
            node.name: workers[node.wanted_worker]
            for node in board.nodes.values()
            if node.wanted_worker is not None
        }
        goal = board.run.goal if board.run else None
        return cls.of_nodes(board.nodes.values(), named, goal=goal)

    @classmethod
    def of_nodes(
        cls,
        nodes: Iterable[Any],
        workers: Mapping[str, WorkerSpec] | None = None,
        *,
        goal: str | None = None,
    ) -> "Graph":
        """Return the graph of `WorkNode`s, or of `NodeView`s of the API.

        `workers` are the workers that nodes are reserved for, by the names of the nodes.
        """
        every = list(nodes)
        called = _names_in_plan(every)
        kept = [node for node in every if node.copy_of is None]
        waits = _waits_on_board(kept, called)
        paths = _paths_in_plan(every, called)
        graph = cls(goal=goal)
        for node in kept:
            refs, worker = _refs_on_board(node, paths), (workers or {}).get(node.name)
            each = node.for_each
            flow = {
                "when": {called[one]: text for one, text in node.when.items()},
                "for_each": each and each.model_copy(update={"node": called[each.node]}),
            }
            made = _node(node, node.name, waits[node.name], refs, worker)
            graph.add_node(made.model_copy(update=flow))
            graph.statuses[node.name] = node.status
        return graph

    def add_node(self, node: Node) -> Node:
        """Add a node, and return it. Raises InvalidInput if there is one with its id."""
        if not isinstance(node, Node):
            raise InvalidInput(f"{node!r:.80} is no node (possible: Node(id=..., task=...))")
        if node.id in self._ids:
            raise InvalidInput(f"node '{node.id}' is in the graph already")
        self._ids.add(node.id)
        self.nodes.append(node)
        return node

    def problems(self) -> list[str]:
        """Return the problems that prevent a run of the graph, one line each.

        These are unknown dependencies, cycles, and nodes that can never be reached because of them.
        """
        if not self.nodes:
            return ["a graph needs a node"]
        return [f"{shown_path(path)}: {why}" for path, why in graph_mistakes(self.nodes)]

    def validate(self) -> None:
        """Raise InvalidInput with all `problems`, if there are any."""
        if found := self.problems():
            raise InvalidInput("\n".join(found))

    def plan(self) -> Plan:
        """Return the checked plan. Raises InvalidInput as in `validate`, or for invalid workers."""
        self.validate()
        return parse_plan(self.to_json(), "graph")

    def without(self, ids: Iterable[str]) -> "Graph":
        """Return a copy without the nodes `ids`; other nodes lose their dependencies on them."""
        gone = set(ids)
        kept = (node for node in self.nodes if node.id not in gone)
        left = Graph((_without(node, gone) for node in kept), goal=self.goal)
        left.statuses = {one: how for one, how in self.statuses.items() if one not in gone}
        return left

    # --- as text -------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the content of a plan file as plain values, without default values."""
        rows = [
            {"id": node.id, **node.model_dump(mode="json", exclude_defaults=True)}
            for node in self.nodes
        ]
        return {**({"goal": self.goal} if self.goal else {}), "nodes": rows}

    def to_json(self) -> str:
        """Return the plan file as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2)

    def to_yaml(self) -> str:
        """Return the plan file as YAML."""
        return to_yaml(self.to_dict())

    # --- as a picture --------------------------------------------------------------------------

    def to_tree(self, width: int = 80) -> str:
        """Return the graph as an indented text: each node once, below its deepest dependency."""
        return drawing.tree(self._boxes(), width)

    def to_mermaid(self) -> str:
        """Return the graph as a Mermaid flowchart."""
        return drawing.mermaid(self._boxes())

    def to_dot(self) -> str:
        """Return the graph in the language of Graphviz."""
        return drawing.dot(self._boxes())

    def to_svg(self) -> str:
        """Return the graph as an SVG image, each node below its dependencies."""
        return drawing.svg(self._boxes())

    def to_html(self) -> str:
        """Return a whole page with the image and the task of each node; it loads nothing."""
        return drawing.page(self._boxes(), self.goal or "Plan")

    def to(self, form: GraphForm) -> str:
        """Return the graph as text in the form `form`, by the matching method `to_...`."""
        made: dict[GraphForm, Callable[[], str]] = {
            "tree": self.to_tree,
            "mermaid": self.to_mermaid,
            "dot": self.to_dot,
            "svg": self.to_svg,
            "html": self.to_html,
            "json": self.to_json,
        }
        return made[form]()

    def _repr_html_(self) -> str:
        return self.to_svg()

    def _boxes(self) -> list[drawing.Box]:
        known = {node.id: place for place, node in enumerate(self.nodes)}
        return [
            drawing.Box(
                title=node.id,
                role=node.role,
                task=node.task,
                status=self.statuses.get(node.id, ""),
                needs=tuple(known[one] for one in node.deps if one in known),
                when={known[one]: text for one, text in node.when.items() if one in known},
                is_each=node.for_each is not None,
            )
            for node in self.nodes
        ]


def _of_plan(node: PlanNode, workers: Mapping[str, WorkerSpec]) -> Node:
    worker = workers[node.worker] if node.worker else None
    made = _node(node, node.name, node.dependencies, node.refs, worker)
    return made.model_copy(update={"when": node.when, "for_each": node.for_each})


def _node(
    terms: PlannedTerms,
    id: str,
    deps: tuple[str, ...],
    refs: Mapping[str, str],
    worker: WorkerSpec | None,
) -> Node:
    """Return the node of a graph, without values that are implied.

    Implied are a ref to each dependency, and a node's own worker that has a model or may lead.
    """
    given = {name: getattr(terms, name) for name in PlannedTerms.model_fields}
    if given["mode"] == "multi_turn":
        given["mode"] = None
    if worker is not None:
        given |= {name: getattr(worker, name) for name in OF_WORKER if getattr(worker, name)}
        is_manager = (given["role"] or "").casefold() == MANAGER
        given["can_lead"] = None if worker.can_lead == is_manager else worker.can_lead
        is_own = worker.name == id and (worker.model or worker.can_lead)
        given |= {} if is_own else {"worker": worker.name}
    said = {ref: to for ref, to in refs.items() if not (ref == to and to in deps)}
    kept = {name: value for name, value in given.items() if value is not None}
    return Node.model_validate({**kept, "id": id, "deps": deps, "refs": said})


def _without(node: Node, gone: set[str]) -> Node:
    deps = tuple(one for one in node.deps if one not in gone)
    refs = {ref: to for ref, to in node.refs.items() if to.partition("/")[0] not in gone}
    when = {one: text for one, text in node.when.items() if one not in gone}
    return node.model_copy(update={"deps": deps, "refs": refs, "when": when})


def _names_in_plan(nodes: Sequence[Any]) -> dict[str, str]:
    """Return the name in a plan of each node of a board, by its id and by its name.

    A copy, made for one item of a list, has the name of the node with the `for_each`.
    """
    names = {str(key): str(node.name) for node in nodes for key in (node.id, node.name)}
    copies = {
        str(key): names[node.copy_of]
        for node in nodes
        if node.copy_of is not None
        for key in (node.id, node.name)
    }
    return names | copies


def _waits_on_board(nodes: Sequence[Any], called: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the names of the nodes that each node of a board came after.

    A sub-node came after all nodes that its parent waited for, and its parent after it; a node
    without dependencies came after the nodes of the previous stage.
    """
    by_name = {node.name: node for node in nodes}

    def parent_of(node: Any) -> Any:
        return by_name.get(called.get(node.parent_node, ""))

    stages: dict[int, list[str]] = {}
    for node in nodes:
        if parent_of(node) is None:
            stages.setdefault(node.stage, []).append(node.name)

    @cache
    def before(name: str) -> tuple[str, ...]:
        node = by_name[name]
        own = tuple(called.get(one, one) for one in node.dependencies)
        above = parent_of(node)
        if above is not None:
            return (*own, *before(above.name))
        return own or tuple(stages.get(node.stage - 1, ()))

    children: dict[str, list[str]] = {}
    for node in nodes:
        if (above := parent_of(node)) is not None:
            children.setdefault(above.name, []).append(node.name)
    return {
        name: tuple(dict.fromkeys((*before(name), *children.get(name, ())))) for name in by_name
    }


def _paths_in_plan(nodes: Sequence[Any], called: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return for each folder its node's name in a plan, and the suffix of refs to a copy."""
    numbers: Counter[str] = Counter()
    paths = {}
    for node in nodes:
        name = called[node.name]
        numbers[name] += node.copy_of is not None
        paths[node.name] = (name, f"-{numbers[name]}" if node.copy_of is not None else "")
    return paths


def _refs_on_board(node: Any, paths: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return a node's refs in the form of a plan: `NODE` or `NODE/published/FILE`."""
    refs = {}
    for ref, path in node.refs.items():
        _, folder, *inner = path.split("/")
        name, number = paths.get(folder, (folder, ""))
        to = name if inner == ["published"] else "/".join((name, *inner))
        refs[ref.removesuffix(number)] = to
    return refs

"""Export: the work of a run as a plan file, in the form that it followed, to run it again."""

from collections.abc import Iterable
from typing import Any, Final

from pydantic import AliasChoices, BaseModel

from agiraph.board.board import Board
from agiraph.board.plans.graph import Graph
from agiraph.board.plans.reading import CollaborationFile, ContractForm, RoleForm
from agiraph.core.models import StageContract, WorkNode
from agiraph.core.specs import ContractTerms, PlannedTerms, WorkerSpec

GONE: Final = ("failed", "cancelled")


def plan_of_board(board: Board) -> dict[str, Any]:
    """Return the plan of the nodes on a board, as plain values.

    It is a collaboration plan if all its nodes belong to stages of one, otherwise a graph. Failed
    and cancelled nodes are omitted if all nodes have ended. The board must have a node.
    """
    gone = {node.name for node in board.nodes.values() if node.status in GONE}
    if len(gone) == len(board.nodes) or not all(node.has_ended for node in board.nodes.values()):
        gone = set()
    main = [node for node in board.nodes.values() if not (node.parent_node or node.copy_of)]
    if main and all(node.plan_stage for node in main):
        return _collaboration(board, [node for node in main if node.name not in gone] or main)
    graph = Graph.from_board(board).without(gone)
    graph.validate()
    return graph.to_dict()


def _collaboration(board: Board, nodes: Iterable[WorkNode]) -> dict[str, Any]:
    stages: dict[str, list[WorkNode]] = {}
    for node in nodes:
        stages.setdefault(node.plan_stage, []).append(node)
    shown = [
        {"name": name, "roles": [_shown(_role(board, node)) for node in roles]}
        for name, roles in stages.items()
    ]
    given = _shown(_contract(board, [roles[0] for roles in stages.values()]))
    plan: dict[str, Any] = {"problem_summary": board.run.goal if board.run else "", "stages": shown}
    CollaborationFile.model_validate({**plan, "contract": given})
    return {**plan, "contract": given} if given else plan


def _role(board: Board, node: WorkNode) -> RoleForm:
    holder = node.wanted_worker or node.assigned_worker
    worker = board.workers[holder] if holder else WorkerSpec(name=node.name)
    terms = {name: getattr(node, name) for name in PlannedTerms.model_fields}
    terms |= {name: getattr(worker, name) for name in ("can_lead", "host", "host_labels")}
    terms |= {"id": node.name, "name": worker.name if worker.name != node.name else None}
    terms |= {"type": node.type or "harnessed"}
    terms |= {"mode": None} if node.mode == "multi_turn" else {}
    return RoleForm.model_validate(terms)


def _contract(board: Board, firsts: list[WorkNode]) -> ContractForm:
    """Return the contract of a plan: the terms in which its stage differs from the run."""
    run, first = board.run, firsts[0]
    usual = run.contract if run else StageContract()
    has = board.stages[first.stage].contract
    said = {
        name: getattr(has, name)
        for name in ContractTerms.model_fields.keys() & StageContract.model_fields.keys()
        if getattr(has, name) != getattr(usual, name)
    }
    if first.enough != usual.checkpoint_policy:
        said["checkpoint_policy"] = first.enough
    is_reconvened = len({node.stage for node in firsts}) > 1
    if is_reconvened or (run and not run.may_reconvene):
        said["coordinator_reconvenes"] = is_reconvened
    if run and run.max_stages is not None:
        own = 0 if is_reconvened else len(firsts) - 1
        said["max_stages"] = run.max_stages + own
    return ContractForm.model_validate(said)


def _shown(form: BaseModel) -> dict[str, Any]:
    """Return a form's values without defaults, each under the first name of its key."""
    shown = {}
    for name, value in form.model_dump(mode="json", exclude_defaults=True).items():
        names = type(form).model_fields[name].validation_alias
        shown[str(names.choices[0]) if isinstance(names, AliasChoices) else name] = value
    return shown

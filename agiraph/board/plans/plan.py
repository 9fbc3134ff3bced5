"""Plans: read a plan file into a checked `Plan`, and turn that into the board's first commands."""

from pathlib import Path

from agiraph.board.commands import CreateNode, SpawnWorker
from agiraph.board.plans.forms import GraphFile
from agiraph.board.plans.graph import plan_of_graph
from agiraph.board.plans.reading import read_form
from agiraph.board.plans.record import Plan
from agiraph.board.plans.stages import plan_of_stages
from agiraph.core.errors import InvalidInput
from agiraph.core.specs import StageTerms

__all__ = ["Plan", "parse_plan", "plan_commands", "read_plan"]


def read_plan(path: Path) -> Plan:
    """Return the plan in a file; InvalidInput names the file, the key and what was possible."""
    try:
        text = path.read_text(encoding="utf-8")  # plain: the person's plan
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: is not UTF-8 text (byte {error.start})") from None
    return parse_plan(text, str(path))


def parse_plan(text: str, name: str = "plan") -> Plan:
    """Return the plan in JSON or YAML text; InvalidInput calls it `name`."""
    form = read_form(text, name)
    try:
        if isinstance(form, GraphFile):
            return plan_of_graph(form)
        return plan_of_stages(form)
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error}") from None


def plan_commands(plan: Plan) -> tuple[SpawnWorker | CreateNode, ...]:
    """Return the commands that fill an empty board: its workers, then its nodes in order.

    A node has a ref to each of its dependencies, called by that one's name. The causes follow
    from the names, so filling the same board again changes nothing.
    """
    spawns = (SpawnWorker(f"plan:worker:{worker.name}", worker) for worker in plan.workers)
    is_staged = _is_staged(plan)
    nodes = (
        CreateNode(
            cause=f"plan:node:{node.name}",
            spec=node,
            cohort=(node.stage or "") if is_staged else "",
            enough=plan.contract.checkpoint_policy if is_staged else "all_must_complete",
            stage=_terms(plan) if node is plan.nodes[0] else None,
        )
        for node in plan.nodes
    )
    return (*spawns, *nodes)


def _terms(plan: Plan) -> StageTerms:
    """Return what the plan asks of the board's one stage, which holds all of the plan's stages.

    A policy is for nodes that stand side by side: where the plan has several stages it counts for
    each of them (their nodes are cohorts), and not for the whole.
    """
    given = {name: getattr(plan.contract, name) for name in plan.contract.model_fields_set}
    if _is_staged(plan):
        given.pop("checkpoint_policy", None)
    return StageTerms(**given)


def _is_staged(plan: Plan) -> bool:
    return len({node.stage for node in plan.nodes}) > 1

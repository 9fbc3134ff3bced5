"""Plans: read a plan file into a checked `Plan`, and turn that into the board's first commands."""

from pathlib import Path

from agiraph.board.commands import CreateNode, SpawnWorker
from agiraph.board.plans.forms import GraphFile
from agiraph.board.plans.graph import plan_of_graph
from agiraph.board.plans.reading import read_form
from agiraph.board.plans.record import Plan, PlanNode
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


def plan_commands(plan: Plan, stages: int | None = None) -> tuple[SpawnWorker | CreateNode, ...]:
    """Return the commands that fill an empty board: its workers, then its nodes in order.

    A node has a ref to each of its dependencies, called by that one's name. The causes follow
    from the names, so filling the same board again changes nothing. Of a plan that is reconvened
    only the first `stages` are put there.
    """
    spawns = (SpawnWorker(f"plan:worker:{worker.name}", worker) for worker in plan.workers)
    names = stage_names(plan)
    is_staged = len(names) > 1
    shown = names[:stages] if plan.is_reconvened else names
    firsts = [next(node for node in plan.nodes if node.stage == name) for name in names]
    opening = firsts if plan.is_reconvened else firsts[:1]
    nodes = (
        CreateNode(
            cause=f"plan:node:{node.name}",
            spec=node,
            cohort=(node.stage or "") if is_staged else "",
            enough=plan.contract.checkpoint_policy if is_staged else "all_must_complete",
            stage=_terms(plan, node) if node in opening else None,
        )
        for node in plan.nodes
        if node.stage in shown
    )
    return (*spawns, *nodes)


def stage_names(plan: Plan) -> list[str | None]:
    """Return the names of the plan's stages in order; one of None if it has none."""
    return list(dict.fromkeys(node.stage for node in plan.nodes))


def _terms(plan: Plan, first: PlanNode) -> StageTerms:
    """Return the terms of the board's stage that `first` opens.

    A policy is for nodes that stand side by side: where the plan has several stages it counts for
    each of them (their nodes are cohorts), and not for the board's stage.
    """
    given = {name: getattr(plan.contract, name) for name in plan.contract.model_fields_set}
    if len(stage_names(plan)) > 1:
        given.pop("checkpoint_policy", None)
    return StageTerms(name=first.stage if plan.is_reconvened else None, **given)

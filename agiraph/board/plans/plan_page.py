"""The plan page: a board as `_plan.md`, with each stage, its decisions, and the next stage.

It is derived from the board alone, so it can be rewritten at any time and is always the same. In
the file it is between two marks; the rest of the file is the coordinator's own text.
"""

from agiraph.board.board import Board
from agiraph.board.rules.stages import nodes_of, over_in_words
from agiraph.board.view import node_row
from agiraph.core.models import Stage, StageContract, StagePlan, WorkNode

SUMMARY_CHARACTERS = 300
BEGIN = "<!-- the board, kept up to date by Agiraph; write above or below -->"
END = "<!-- end of the board -->"


def plan_page(board: Board) -> str:
    """Return the text of the plan page; the board must have a run."""
    assert board.run is not None
    lines = ["# Plan", "", f"Goal: {board.run.goal}", ""]
    for stage in board.stages:
        lines += _stage(board, stage)
    lines += _ending(board)
    return "\n".join(lines).rstrip() + "\n"


def with_own_text(page: str, text: str, last_written: str) -> str:
    """Return `_plan.md`: the page between its marks, and around it the coordinator's text.

    `text` is the current file, `last_written` the text that Agiraph wrote last. A file without
    marks that has been changed since is the coordinator's own text.
    """
    section = f"{BEGIN}\n\n{page.strip()}\n\n{END}\n"
    before, mark, rest = text.partition(BEGIN)
    if mark:
        _, end, after = rest.partition(END)
        after = after if end else rest  # a duplicate is better than a loss
        return f"{before}{section}{after.removeprefix(chr(10))}"
    own = "" if text == last_written else text.strip()
    return f"{own}\n\n{section}" if own else section


def _stage(board: Board, stage: Stage) -> list[str]:
    lines = [f"## {stage.name} ({stage.status})", ""]
    if stage.goal:
        lines += [stage.goal, ""]
    terms = _terms(stage.contract, board.run.contract if board.run else stage.contract)
    if terms:
        lines += [f"Contract: {terms}.", ""]
    lines += [_node(board, node) for node in nodes_of(board, stage)]
    if stage.over:
        names = ", ".join(board.nodes[node].name for node in stage.stragglers) or "nothing"
        why = over_in_words(stage.over, stage.contract)
        lines += ["", f"Over: {why}. Went on without: {names}."]
    if stage.assessment:
        lines += ["", "Assessment:", "", stage.assessment]
    if stage.decided:
        lines += ["", "Decided:", "", stage.decided]
    return [*lines, ""]


def _terms(contract: StageContract, usual: StageContract) -> str:
    """Return the terms in which a stage's contract differs from the run's, in words."""
    terms = []
    if contract.checkpoint_policy != usual.checkpoint_policy:
        terms.append(f"{contract.checkpoint_policy.replace('_', ' ')}")
    if contract.timeout_seconds != usual.timeout_seconds:
        limit = contract.timeout_seconds
        terms.append("no limit of time" if limit is None else f"{limit:g} s")
    if contract.max_iterations_per_node != usual.max_iterations_per_node:
        terms.append(f"{contract.max_iterations_per_node} turns a node")
    return ", ".join(terms)


def _node(board: Board, node: WorkNode) -> str:
    row = node_row(board, node)
    worker = f", {row['worker']}" if row["worker"] else ""
    line = f"- **{node.name}** ({node.role}{worker}): {node.status}"
    said = " ".join((row["summary"] or "").split())
    cut = f"{said[:SUMMARY_CHARACTERS]} ..." if len(said) > SUMMARY_CHARACTERS else said
    return f"{line}: {cut}" if cut else line


def _ending(board: Board) -> list[str]:
    assert board.run is not None
    if board.run.summary:
        return ["## Result", "", "See `_output.md`."]
    if board.run.status != "running":
        return ["## Result", "", f"The run {board.run.status}: {board.run.reason}"]
    return _next(board.planned) if board.planned else []


def _next(plan: StagePlan) -> list[str]:
    return [f"## Next: {plan.name}", "", *([plan.goal] if plan.goal else [])]

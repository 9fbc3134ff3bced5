"""Agent prompts: the texts for an external agent, as prompts and as `_context.json`; pure."""

from collections.abc import Sequence
from pathlib import Path

from agiraph.agent.prompts import assignment_facts, render
from agiraph.core.models import Assignment, Worker
from agiraph.core.turns import JsonObject

ARGUMENT_CHARACTERS = 30_000
"""A longer task is not passed as an argument."""
TIME_NEAR = (
    "[Runtime]: {left:.0f} seconds of this task's {all:g} are left. Finish now: write "
    "`_result.md`, with the undone work and how to continue. You are stopped at the limit; without "
    "`_result.md` your work does not reach the others."
)
BOUND_NEAR = (
    "[Runtime]: {used}; you are stopped at the limit, a few model calls from now. Finish: "
    "write `_result.md` now, with the undone work and how to continue. Without `_result.md` your "
    "work does not reach the others."
)
LOST = (
    "[Runtime]: The conversation of {agent}, which works for me, was lost when it was started "
    "again (start {number}). It has begun its node again, with its task and the files that it had "
    "left: some work may have been done twice."
)
LOST_NOTE = "(Its conversation was lost at start {number}, and begun again.)"
POINTER = "Read _task.md in this folder and do the task in it."
SUMMARY_CHARACTERS = 1200


def task_text(
    assignment: Assignment, worker: Worker, *, run: Path, known: str, input_dir: str | None
) -> str:
    """Return the text of `_task.md`; `known` is a text with the worker's notes on earlier work."""
    refs = [{"name": name, "path": path} for name, path in _refs(assignment, run).items()]
    return render(
        "outside",
        worker=worker,
        refs=refs,
        known=known.strip(),
        input_dir=input_dir,
        checks=assignment.node.checks,
        calls=assignment.contract.max_calls_per_node,
        **assignment_facts(assignment),
    )


def context_of(
    assignment: Assignment, worker: Worker, *, run: Path, agent: str, input_dir: str | None
) -> JsonObject:
    """Return the content of `_context.json`: goal, node, team, refs and paths."""
    node = assignment.node
    return {
        "agent": agent,
        "run": run.name,
        "goal": assignment.goal,
        "you": {"name": worker.name, "role": worker.role},
        "node": {"id": node.id, "name": node.name, "attempt": assignment.attempt},
        "team": list(assignment.team),
        "refs": _refs(assignment, run),
        "input": input_dir,
        "plan": str(run / "_plan.md"),
    }


def prompt_for(task: str) -> str:
    """Return the prompt of a new session: the task, or a pointer to its file if it is long."""
    return task if len(task) <= ARGUMENT_CHARACTERS else POINTER


def prompt_again(task: str, *, why: str, messages: Sequence[str], checkpoint: bool) -> str:
    """Return the prompt of a further start; `task` is '' if the session contains the task."""
    again = render("outside_again", why=why, messages=list(messages), checkpoint=checkpoint)
    return f"{prompt_for(task)}\n\n{again}" if task else again


def summary_of(result: str, lost_at: int = 0) -> str:
    """Return a result as its node's summary.

    `lost_at` is the number of the start that lost its session, 0 if none did.
    """
    text = result.strip()
    if len(text) > SUMMARY_CHARACTERS:
        text = f"{text[:SUMMARY_CHARACTERS].rstrip()} [...]"
    return f"{text}\n\n{LOST_NOTE.format(number=lost_at)}" if lost_at else text


def _refs(assignment: Assignment, run: Path) -> dict[str, str]:
    return {name: str(run / path) for name, path in sorted(assignment.node.refs.items())}

"""Prompts: the texts of configs/prompts filled in, or a person's replacements of them.

The same inputs give the same bytes.

A system prompt is built once per conversation and never changes between turns, so that provider
caches serve the whole beginning of a long loop.
"""

import json
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from agiraph.core.models import Assignment, WorkNode
from agiraph.settings.prompt_folder import folders, shipped

WORKER_REMINDER = (
    "[Runtime]: You answered without calling a tool. Go on with the work, or call `publish` "
    "if the spec is met. Text alone reaches nobody."
)
COORDINATOR_REMINDER = (
    "[Runtime]: Nothing runs and nobody is waiting for you. If the goal is reached call `finish` "
    "with the result. Otherwise create the next nodes, or ask the human."
)
PLAN_GIVEN = (
    "[Runtime]: The human gave a plan; its nodes stand on the board already. "
    "`wait` for them, judge what they publish, and `finish`."
)
PLAN_LEADS = (
    "[Runtime]: The human gave a plan; its nodes are carried out without you. Answer messages. "
    "`finish` with a summary of what the nodes published only when all of them have ended."
)
PLAN_IN_STAGES = (
    "[Runtime]: The human gave a plan of several stages; the nodes of the first stand on the board "
    "already. `wait` for them, judge what they publish, and `reconvene` with your assessment: the "
    "plan's next stage opens then. After the last one `finish`."
)
PLAN_STATIC = (
    "[Runtime]: The whole plan was made before; its nodes stand on the board already. `wait` for "
    "them, judge what they publish, and `finish`. Do not create nodes: what is missing because a "
    "node failed, say in the result."
)
PLAN_HYBRID = (
    "[Runtime]: The parts of the work were planned before; their nodes stand on the board already, "
    "and each manager leads a team of its own. `wait` for them, judge what they publish, and "
    "`finish`. Leave what is below a part to its manager."
)
NEW_RUN = (
    "[Runtime]: This is a new run. Its board and its folder are empty, and the workers of earlier "
    "runs are gone; your conversation and your memory go on."
)


CYCLE_REMINDER = (
    "[Runtime]: Nothing runs and nobody is waiting for you. If this cycle's work is done call "
    "`end_cycle` with your notes. Otherwise create the next nodes, or ask the human."
)


@cache
def _environment(folders: tuple[Path, ...]) -> Environment:
    return Environment(
        loader=FileSystemLoader(folders),
        undefined=StrictUndefined,
        keep_trailing_newline=False,
        trim_blocks=False,
    )


def render(name: str, **values: object) -> str:
    """Return the prompt `{name}.md` with `values` filled in."""
    environment = _environment(folders())
    return environment.get_template(f"{name}.md").render(**values).strip()


def prepare() -> None:
    """Compile every prompt now: processes forked later save 50 ms for each."""
    for path in shipped().glob("*.md"):  # plain: shipped with the package
        _environment((shipped(),)).get_template(path.name)


def system_prompt(name: str, *, skills: str, **values: object) -> str:
    """Return the prompt of a `coordinator` or `worker`; `skills` is the list of skills as text.

    `coordinator_short` and `worker_short` contain neither that list nor the rules.
    """
    listed = f"\n\n{render('skills', skills=skills)}" if skills else ""
    return render(name, skills=listed, rules=render("rules"), **values)


def goal_turn(goal: str, input_dir: str | None, plan: str = "") -> str:
    """Return the coordinator's first user turn; `plan` is its text about the plan."""
    lines = [f"# Goal\n\n{goal}"]
    if input_dir:
        lines.append(
            "The input folder is mounted at input/ (read-only; in bash: $AGIRAPH_INPUT). "
            f"It is called {Path(input_dir).name}."
        )
    if plan:
        lines.append(plan)
    return "\n\n".join(lines)


def new_run_turn(goal: str, input_dir: str | None, *, cause: str, plan: str = "") -> str:
    """Return the user turn that gives a coordinator a further goal; `cause` names its cause."""
    lines = [goal_turn(goal, input_dir, plan), NEW_RUN]
    if cause:
        lines.append(f"[Runtime]: It was begun by {cause}.")
    return "\n\n".join(lines)


def assignment_turn(assignment: Assignment, before: Assignment | None = None) -> str:
    """Return the user turn that gives a worker its node.

    The parts that equal `before`, the last assignment shown in its conversation, are omitted.
    """
    schema = assignment.node.output_schema
    known = {
        "has_known_schema": before is not None and schema == before.node.output_schema,
        "has_known_goal": before is not None and before.goal == assignment.goal,
        "has_known_notes": before is not None and before.notes == assignment.notes,
    }
    refs = sorted(assignment.node.refs.items())
    turns = assignment.contract.max_iterations_per_node
    return render("assignment", refs=refs, turns=turns, **assignment_facts(assignment), **known)


def schema_in_words(node: WorkNode) -> str:
    """Return the JSON Schema of a node's result as a model reads it, '' if it has none."""
    schema = node.output_schema
    return "" if schema is None else json.dumps(schema, ensure_ascii=False, indent=2)


def assignment_facts(assignment: Assignment) -> dict[str, object]:
    """Return the values for the assignment template of every kind of worker."""
    return {
        "node": assignment.node,
        "spec": assignment.spec.strip(),
        "goal": assignment.goal,
        "stage": assignment.stage,
        "stage_goal": assignment.stage_goal.strip(),
        "context_keys": assignment.context_keys,
        "team": ", ".join(assignment.team) or "you alone",
        "attempt": assignment.attempt,
        "worktree": assignment.worktree,
        "schema": schema_in_words(assignment.node),
        "today": assignment.today,
        "notes": assignment.notes,
    }

"""Prompts: the texts of configs/prompts filled in, or those that a person laid over them.

The same inputs give the same bytes.

A system prompt is built once per conversation and never changes from turn to turn, so that
provider caches serve the whole beginning of a long loop.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from agiraph.core.models import Agent, Assignment, Worker
from agiraph.core.prompt_folder import folders, shipped

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
PLAN_IN_STAGES = (
    "[Runtime]: The human gave a plan of several stages; the nodes of the first stand on the board "
    "already. `wait` for them, judge what they publish, and `reconvene` with your assessment: the "
    "plan's next stage opens then. After the last one `finish`."
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
    """Compile every prompt now: processes forked after this need not, each for 50 ms."""
    for path in shipped().glob("*.md"):  # plain: shipped with the package
        _environment((shipped(),)).get_template(path.name)


def coordinator_system(
    agent: Agent,
    *,
    soul: str,
    goal: str,
    memory: str,
    skills: str,
    guidance: str,
    today: str,
    max_concurrent: int,
    models: Sequence[Mapping[str, object]] = (),
    agents: Sequence[object] = (),
) -> str:
    """Return a coordinator's system prompt; `skills` are the lines that list them.

    `models` and `agents` are those that workers can use (`PromptFacts`).
    """
    return render(
        "coordinator",
        agent=agent,
        soul=soul.strip(),
        goal=goal.strip(),
        skills=_skills(skills),
        memory=memory.strip() or "(empty)",
        guidance=guidance,
        today=today,
        rules=render("rules"),
        input_dir=agent.input_dir,
        max_concurrent=max_concurrent,
        models=models,
        agents=agents,
    )


def worker_system(
    worker: Worker,
    *,
    agent_name: str,
    identity: str,
    skills: str,
    guidance: str,
    today: str,
    has_input: bool,
) -> str:
    """Return a worker's system prompt; `skills` are the lines that tell of them."""
    return render(
        "worker",
        worker=worker,
        identity=identity.strip(),
        agent_name=agent_name,
        skills=_skills(skills),
        guidance=guidance,
        today=today,
        rules=render("rules"),
        input_dir=has_input,
    )


def _skills(lines: str) -> str:
    return f"\n\n{render('skills', skills=lines)}" if lines else ""


def single_system(worker: Worker, *, agent_name: str, identity: str, today: str) -> str:
    """Return the system prompt of a worker that has one answer and no tools."""
    return render(
        "single", worker=worker, identity=identity.strip(), agent_name=agent_name, today=today
    )


def goal_turn(goal: str, input_dir: str | None, plan: str = "") -> str:
    """Return the coordinator's first user turn; `plan` is what it says of a plan."""
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
    """Return the user turn that gives a coordinator a further goal; `cause` says what began it."""
    lines = [goal_turn(goal, input_dir, plan), NEW_RUN]
    if cause:
        lines.append(f"[Runtime]: It was begun by {cause}.")
    return "\n\n".join(lines)


def assignment_turn(assignment: Assignment) -> str:
    """Return the user turn that gives a worker its node."""
    refs = sorted(assignment.node.refs.items())
    turns = assignment.contract.max_iterations_per_node
    return render("assignment", refs=refs, turns=turns, **assignment_facts(assignment))


def assignment_facts(assignment: Assignment) -> dict[str, object]:
    """Return the values that the assignment of every kind of worker is rendered with."""
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
        "today": assignment.today,
    }

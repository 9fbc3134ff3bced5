"""Prompts: the texts of configs/prompts filled in. The same inputs give the same bytes.

A system prompt is built once per conversation and never changes from turn to turn, so that
provider caches serve the whole beginning of a long loop.
"""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from agiraph.config import configs_folder
from agiraph.models import Agent, Assignment, Worker

WORKER_REMINDER = (
    "[Runtime]: You answered without calling a tool. Go on with the work, or call `publish` "
    "if the spec is met. Text alone reaches nobody."
)
COORDINATOR_REMINDER = (
    "[Runtime]: Nothing runs and nobody is waiting for you. If the goal is reached call `finish` "
    "with the result. Otherwise create the next nodes, or ask the human."
)


@cache
def _environment(folder: Path) -> Environment:
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        keep_trailing_newline=False,
        trim_blocks=False,
    )


def render(name: str, **values: object) -> str:
    """Return the prompt `configs/prompts/{name}.md` with `values` filled in."""
    environment = _environment(configs_folder() / "prompts")
    return environment.get_template(f"{name}.md").render(**values).strip()


def prepare() -> None:
    """Compile every prompt now: processes forked after this need not, each for 50 ms."""
    folder = configs_folder() / "prompts"
    for path in folder.glob("*.md"):
        _environment(folder).get_template(path.name)


def coordinator_system(
    agent: Agent, *, soul: str, memory: str, guidance: str, today: str, max_concurrent: int
) -> str:
    """Return a coordinator's system prompt."""
    return render(
        "coordinator",
        agent=agent,
        soul=soul.strip(),
        memory=memory.strip() or "(empty)",
        guidance=guidance,
        today=today,
        rules=render("rules"),
        input_dir=agent.input_dir,
        max_concurrent=max_concurrent,
    )


def worker_system(
    worker: Worker, *, agent_name: str, identity: str, guidance: str, today: str, has_input: bool
) -> str:
    """Return a worker's system prompt."""
    return render(
        "worker",
        worker=worker,
        identity=identity.strip(),
        agent_name=agent_name,
        guidance=guidance,
        today=today,
        rules=render("rules"),
        input_dir=has_input,
    )


def goal_turn(agent: Agent) -> str:
    """Return the coordinator's first user turn."""
    lines = [f"# Goal\n\n{agent.goal}"]
    if agent.input_dir:
        lines.append(
            "The input folder is mounted at input/ (read-only; in bash: $AGIRAPH_INPUT). "
            f"It is called {Path(agent.input_dir).name}."
        )
    return "\n\n".join(lines)


def assignment_turn(assignment: Assignment) -> str:
    """Return the user turn that gives a worker its node."""
    return render(
        "assignment",
        node=assignment.node,
        spec=assignment.spec.strip(),
        refs=sorted(assignment.node.refs.items()),
        goal=assignment.goal,
        team=", ".join(assignment.team) or "you alone",
        attempt=assignment.attempt,
    )

"""`agiraph plan`: write a plan for a goal, check, show and draw plan files, and export a run's."""

import json
import re
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click

from agiraph.core.errors import InvalidInput, nearly, unknown
from agiraph.core.ids import is_plain_name, new_run_id
from agiraph.storage.files import entries, is_folder
from agiraph.storage.home import Home
from cli.api_command import api_command
from cli.exits import DONE
from cli.options.shared import (
    budgets_option,
    examples,
    home_option,
    json_option,
    run_option,
    text_argument,
)
from cli.output.listing import Done, Shown, print_json
from cli.run.deliverables import wanted_destination
from cli.run.target import RunOptions, given_terms

if TYPE_CHECKING:
    from agiraph.board.plans.graph import Graph, GraphForm
    from agiraph.core.money import NamedLimit
    from agiraph.http.client import Client

FORMATS: Final = ("mermaid", "dot", "svg", "html")
ENDINGS: Final = {".svg": "svg", ".html": "html", ".dot": "dot", ".gv": "dot"}
PLAN_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


USUAL_SUBCOMMANDS: Final = ("help", "list", "show", "status")
"""Words that people type after any command, whether or not it has such a subcommand."""


IMPLIED: Final = "agiraph.implied"
"""The key in a context of the command that was not typed, but is implied by a goal."""


class PlanGroup(click.Group):
    """A group whose first word is a subcommand, or else the goal to write a plan for."""

    without_subcommand = "write"

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the subcommand and its words; for a goal it is `without_subcommand`.

        A single word that is similar to a subcommand is refused: as a goal it would cost money.
        """
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            known = self.list_commands(ctx)
            if len(args[0].split()) == 1 and nearly(args[0], [*known, *USUAL_SUBCOMMANDS]):
                hint = f" (as a goal: `{ctx.command_path} {self.without_subcommand} {args[0]}`)"
                raise click.UsageError(f"{unknown('subcommand', args[0], known)}{hint}", ctx)
            ctx.meta[IMPLIED] = f"{ctx.command_path} {self.without_subcommand}"
            args = [self.without_subcommand, *args]
        return super().resolve_command(ctx, args)


@click.group(
    cls=PlanGroup,
    epilog=examples(
        "agiraph plan 'Compare these papers' -m openai/gpt-4o -o plan.yaml",
        "agiraph plan check plan.yaml",
        "agiraph plan graph plan.yaml --output plan.svg",
        "agiraph run 'Compare these papers' --plan plan.yaml",
        "agiraph plan export my-agent > again.yaml",
    ),
)
def plan() -> None:
    """Write a plan file for a goal (agiraph plan GOAL), or work with plan files.

    A plan file names the nodes of a team's work and which of them need which. It is run with
    `agiraph run GOAL --plan FILE`.
    """


@plan.command(
    epilog=examples(
        "agiraph plan 'Compare these papers' -i papers -o plan.yaml",
        "agiraph plan write 'Compare these papers' --planning hybrid",
    )
)
@click.argument("goal")
@click.option("-m", "--model", help="provider/model of the planner; `agiraph models` lists them.")
@click.option(
    "--planning",
    type=click.Choice(("static", "hybrid")),
    default="static",
    help="static: all nodes; hybrid: a skeleton whose managers plan below [default: static].",
)
@click.option(
    "-i",
    "--input",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The directory that the team will be given.",
)
@budgets_option("Its budget: 2 or $2 (US dollars), 500k-tokens.")
@click.option("-o", "--output", metavar="FILE", help="Write the plan into this file.")
@click.option("--force", is_flag=True, help="With --output: replace the file if it is there.")
@home_option
@json_option("one JSON object, as of `run`: the plan is its result")
@click.pass_context
def write(
    ctx: click.Context,
    goal: str,
    model: str | None,
    planning: str,
    folder: Path | None,
    budgets: "tuple[NamedLimit, ...]",
    output: str | None,
    force: bool,
    home: Path,
    as_json: bool,
) -> None:
    """Have a model write a plan for a GOAL (- for stdin), without running it.

    It goes to stdout or --output. The agent that made it is kept, with its cost.
    """
    from cli.run.command import limits_of_run
    from cli.run.follow import run_to_the_end

    terms = given_terms(
        **limits_of_run(budgets),
        goal=text_argument(goal, "GOAL"),
        model=model,
        planning=planning,
        input=str(folder.resolve()) if folder else None,
        plan_only=True,
        when_spent="stop",
        run=new_run_id(time.time()),
    )
    refuse_agent_as_goal(goal, home, "plan export")
    to = wanted_destination(output, may_replace=force)
    options = RunOptions(home, terms, None, None, as_json, output=to)
    ctx.exit(run_to_the_end(options, resumes=False))


def refuse_agent_as_goal(goal: str, home: Path, meant: str) -> None:
    """Raise UsageError for a goal that is the id of an agent; `meant` is a command about it.

    Also for the name of an agent, unless the command is typed before the goal (`plan write GOAL`).
    """
    ctx = click.get_current_context()
    implied = ctx.meta.get(IMPLIED)
    agents = Home(home).agents
    if not is_plain_name(goal) or not is_folder(agents):
        return
    is_agent = is_folder(agents / goal)
    of_name = re.compile(rf"{re.escape(goal)}-[0-9a-f]{{6,}}")
    is_name = any(of_name.fullmatch(one.name) for one in entries(agents))
    if is_agent or (implied and is_name):
        way = f"; as a goal: `{implied} {goal}`" if implied and not is_agent else ""
        raise click.UsageError(
            f"'{goal}' is an agent, not a goal (possible: `agiraph {meant} {goal}`{way})", ctx
        )


@plan.command(epilog=examples("agiraph plan check plan.yaml"))
@click.argument("file", type=PLAN_FILE)
@home_option
@json_option("a JSON object: nodes, workers")
def check(file: Path, home: Path, as_json: bool) -> int:
    """Say whether a plan FILE can be followed; exit 2 with each mistake, its line and its key."""
    from agiraph.board.plans.plan import read_plan

    found = read_plan(file)
    counts = {"nodes": len(found.nodes), "workers": len(found.workers)}
    told = f"{file} can be followed: {len(found.nodes)} nodes"
    return Done(counts, told).print(as_json=as_json)


@plan.command(epilog=examples("agiraph plan show plan.yaml"))
@click.argument("file", type=PLAN_FILE)
@home_option
@json_option("the plan as a graph, in JSON")
def show(file: Path, home: Path, as_json: bool) -> int:
    """Print the nodes of a plan FILE as a tree, each below its last dependency."""
    graph = _load(file)
    if as_json:
        print_json(graph.to_dict())
    else:
        click.echo(graph.to_tree(shutil.get_terminal_size((100, 24)).columns))
    return DONE


@plan.command(
    epilog=examples(
        "agiraph plan graph plan.yaml                    # Mermaid, for Markdown",
        "agiraph plan graph plan.yaml --output plan.svg",
        "agiraph plan graph plan.yaml --format html --output plan.html",
    )
)
@click.argument("file", type=PLAN_FILE)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="[default: by the ending of --output, else mermaid]",
)
@click.option("-o", "--output", metavar="FILE", help="Write it into this file [default: stdout].")
@home_option
@json_option("a JSON object: format, text")
def graph(file: Path, form: str | None, output: str | None, home: Path, as_json: bool) -> int:
    """Draw the nodes of a plan FILE as Mermaid, Graphviz (dot), SVG or a page of HTML."""
    form = form or ENDINGS.get(Path(output or "").suffix.lower(), FORMATS[0])
    drawn = _load(file).to(cast("GraphForm", form))
    _put(drawn, output, {"format": form}, as_json=as_json)
    return DONE


@plan.command(epilog=examples("agiraph plan schema > plan.schema.json"))
@home_option
@json_option("the same")
def schema(home: Path, as_json: bool) -> int:
    """Print the JSON Schema of plan files, by which editors complete and check them."""
    from agiraph.board.plans.reading import file_schema

    print_json(file_schema())
    return DONE


@api_command(
    "agiraph plan export my-agent > again.yaml",
    "agiraph plan export my-agent --run 20260101-120000-abcdef",
    json="the plan as a JSON object",
    name="export",
    group=plan,
)
@click.argument("agent")
@run_option
def export(client: "Client", agent: str, run_id: str | None) -> Shown:
    """Print a run of AGENT, an id or a name, as a plan that can be run again.

    It has the nodes that the coordinator and workers have added, in their order.
    Nodes that failed or were cancelled are left out once the run has ended without them. A run that
    followed a collaboration plan, and added nothing to it, is one again.
    """
    from agiraph.board.plans.graph import to_yaml

    found = client.plan(agent, run=run_id)
    return Done(found, to_yaml(found).rstrip())


def _load(file: Path) -> "Graph":
    from agiraph.board.plans.graph import Graph

    return Graph.load(file)


def _put(text: str, output: str | None, about: dict[str, Any], *, as_json: bool) -> None:
    if output is not None:
        to = wanted_destination(output, may_replace=True)
        if to is None or to.is_folder:
            raise InvalidInput(f"{output} is a folder (wanted: a file)")
        to.path.write_text(text, encoding="utf-8")  # plain: where the person wants it
    if as_json:
        click.echo(json.dumps({**about, "text": text}))
    elif output is None:
        sys.stdout.write(text)

"""`agiraph run`: a goal becomes a team; watch it work, answer its questions, get the result.

Records and the client of the API are imported while a started supervisor boots: these imports take
as long as the supervisor's own first imports.
"""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from agiraph.core.ids import new_run_id
from agiraph.http.errors import GatewayAway, NotReachable, UrlUnreachable
from agiraph.storage.project_file import NAME
from cli.exits import DONE
from cli.options import remote
from cli.options.everywhere import remark
from cli.options.shared import (
    DURATION,
    budgets_option,
    connect,
    duration,
    examples,
    home_option,
    json_option,
    notes_option,
    require_writable,
    text_argument,
    together,
)
from cli.run.deliverables import output_options, wanted_destination
from cli.run.follow import run_to_the_end, show_ui
from cli.run.project_defaults import RunCommand, is_of_project
from cli.run.screen import TerminalScreen, can_prompt
from cli.run.target import RunOptions, RunTarget, given_terms, planned_terms, send_input
from cli.sanitize import require_utf8

if TYPE_CHECKING:
    from agiraph.core.money import NamedLimit

MODES: Final = ("finite", "infinite")
PLANNING: Final = ("dynamic", "static", "hybrid")
WHEN_SPENT: Final = ("ask", "stop")
REPLAY: Final = "replay/"
OF_ANY_RUN: Final = frozenset(
    [
        "resumes",
        "agent",
        "timeout",
        "output",
        "force",
        "shows_ui",
        "home",
        "as_json",
        "quiet",
        "verbose",
    ]
)
"""The options that are permitted for a run that is only resumed."""


@click.command(
    cls=RunCommand,
    epilog=examples(
        "agiraph run 'Survey this folder' -i . -m script/survey",
        "agiraph run 'Compare these papers' -i papers -m anthropic/claude-sonnet-4-5",
        "agiraph run 'Find the bug' --input src --budget 2 --timeout 15m -o report.md",
        "agiraph run 'Compare these papers' -i papers --plan plan.yaml --estimate",
        "agiraph run 'Compare these papers' --planning static --approve-plan",
        "agiraph run 'Look for typos in the docs' --input . --detach",
        "agiraph run 'Now correct them' --agent look-for-typos-in",
        "agiraph run 'Explain this code' --input . --record calls.jsonl",
        "agiraph run 'Explain this code' --input . --model replay/calls.jsonl",
        "agiraph run 'Report what is new' --input . --mode infinite --cycle 1h",
        "agiraph run --resume              # continue what a killed command left",
    ),
)
@click.argument("goal", required=False)
@click.option(
    "-m", "--model", help="provider/model of the coordinator; `agiraph models` lists them."
)
@click.option(
    "--worker-model",
    metavar="MODELS",
    help="provider/model of the workers; several with commas, `any` or `<=DOLLARS` (per million "
    "tokens of output): the coordinator chooses among them [default: the same, or any].",
)
@click.option("--mode", type=click.Choice(MODES), help="[default: finite]")
@click.option(
    "--cycle",
    type=DURATION,
    help="In infinite mode: time from the end of a cycle to the next, such as 30s, 5m, 2h.",
)
@click.option(
    "-i",
    "--input",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A directory that the team may read (. is the current one) [default: none].",
)
@click.option(
    "--plan",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A YAML or JSON file with a plan for the coordinator to follow.",
)
@click.option(
    "--planning",
    type=click.Choice(PLANNING),
    help="When nodes are planned: dynamic, by the coordinator as it goes; static, all by a planner "
    "before the first step; hybrid, a skeleton whose managers plan below [default: dynamic].",
)
@click.option(
    "--approve-plan",
    is_flag=True,
    help="Ask you first whether the plan is to be followed (static or hybrid planning).",
)
@budgets_option("Its budget: 2 or $2 (US dollars), 500k-tokens; repeatable, for both.")
@click.option(
    "--when-spent",
    type=click.Choice(WHEN_SPENT),
    help="At the end of the budget: ask you for more, or stop with exit code 3 "
    "[default: ask if you can answer here].",
)
@notes_option
@click.option(
    "--record",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Record all model calls in this file; `--model replay/FILE` replays them.",
)
@output_options
@click.option(
    "--estimate",
    "is_estimated",
    is_flag=True,
    help="Print an estimate of time and cost, from earlier runs and prices; begin nothing.",
)
@click.option(
    "--timeout",
    type=duration(least=0.01),
    help="Stop the team after this time, such as 90s or 1h, and exit 1.",
)
@click.option("-n", "--name", help="The name of the agent.")
@click.option(
    "--agent", help="Give the goal to this existing agent, which remembers its earlier runs."
)
@click.option(
    "-d",
    "--detach",
    is_flag=True,
    help="Start the run and return; needs a running supervisor (`agiraph up`).",
)
@click.option(
    "--resume",
    "resumes",
    is_flag=True,
    help="Resume unfinished agents too, for as long as this run lasts; without GOAL: watch the "
    "only one, or --agent.",
)
@click.option(
    "--ui", "shows_ui", is_flag=True, help="Open the web UI at the agent; prints its link, too."
)
@home_option
@json_option("one JSON object: agent, run, status, reason, failure_class, result ...")
@click.pass_context
def run(
    ctx: click.Context,
    goal: str | None,
    model: str | None,
    worker_model: str | None,
    mode: str | None,
    cycle: float | None,
    folder: Path | None,
    plan: Path | None,
    planning: str | None,
    approve_plan: bool,
    budgets: "tuple[NamedLimit, ...]",
    when_spent: str | None,
    notes: str | None,
    record: Path | None,
    output: str | None,
    force: bool,
    timeout: float | None,
    name: str | None,
    agent: str | None,
    detach: bool,
    resumes: bool,
    is_estimated: bool,
    shows_ui: bool,
    home: Path,
    as_json: bool,
) -> None:
    """Give a team a GOAL (- for stdin), watch it work, and get the result.

    The result goes to stdout or --output, everything else to stderr. The run uses the supervisor of
    this home, or starts one for its own duration. The model is --model, else the default of the
    settings, else a model of the first provider whose key is set; script/survey, a script that
    surveys the --input directory, needs no key. With --agent, model and input are taken from its
    last run. Ctrl-C stops the team, or asks whether to detach if a supervisor was there before.
    Exit: 0 done, 1 failed, timed out, 2 wrong usage, no model, 3 out of budget, 130 Ctrl-C.
    """
    if goal is None:
        _require_nothing_new(ctx, resumes)
    _refuse_conflicts(detach, resumes, timeout, cycle, mode, record, agent, name, output)
    terms = given_terms(
        **_models(model, worker_model),
        **planned_terms(plan, planning, approve_plan),
        **limits_of_run(budgets),
        goal=None if goal is None else text_argument(goal, "GOAL"),
        mode=mode,
        cycle_seconds=cycle,
        input=str(folder.resolve()) if folder else None,
        when_spent=when_spent or (None if detach or _is_attended(as_json) else "stop"),
        notes=notes,
        record=record is not None,
        name=_checked_name(name),
        run=new_run_id(time.time()),
    )
    _require_sound(terms, record)
    source = NAME if is_of_project(ctx, "model") else "--model"
    rest = (record, source, not detach, wanted_destination(output, may_replace=force), shows_ui)
    options = RunOptions(home, terms, agent, timeout, as_json, *rest)
    if is_estimated:
        ctx.exit(_estimate(options))
    ctx.exit(_start_only(options) if detach else run_to_the_end(options, resumes=resumes))


def _is_attended(as_json: bool) -> bool:
    """Whether a person can answer questions at this terminal."""
    return can_prompt() and not as_json


def _models(model: str | None, worker_model: str | None) -> dict[str, Any]:
    """Return the requested models; a replay of a recording is used for both."""
    workers = worker_model or (model if _is_replay(model) else None)
    return {"model": _absolute(model), "worker_model": _absolute(workers)}


def _require_nothing_new(ctx: click.Context, resumes: bool) -> None:
    """Raise UsageError unless the command only resumes earlier runs."""
    if not resumes:
        raise click.UsageError("Missing argument 'GOAL'.", ctx)
    given = click.core.ParameterSource.COMMANDLINE
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if name not in OF_ANY_RUN and ctx.get_parameter_source(name) is given:
            raise click.UsageError(
                f"{parameter.opts[-1]} needs a GOAL: a resumed run continues with its first options"
            )


def _refuse_conflicts(
    detach: bool,
    resumes: bool,
    timeout: float | None,
    cycle: float | None,
    mode: str | None,
    record: Path | None,
    agent: str | None,
    name: str | None,
    output: str | None,
) -> None:
    if detach and output is not None:
        raise click.UsageError(
            "--output cannot be used with --detach: `agiraph result` writes it after the end"
        )
    if detach and timeout is not None:
        raise click.UsageError(
            "--timeout cannot be used with --detach: the command does not watch the run"
        )
    if cycle is not None and mode != "infinite":
        raise click.UsageError("--cycle needs --mode infinite: a finite run has no cycles")
    if cycle is not None and cycle < 1:
        raise click.UsageError("--cycle must be at least 1 second")
    if detach and record is not None:
        raise click.UsageError(
            "--record cannot be used with --detach: the file is written at the end of the run"
        )
    if detach and resumes:
        raise click.UsageError("--resume cannot be used with --detach: it lasts as long as a run")
    if agent is not None and name is not None:
        raise click.UsageError("--name cannot be used with --agent: it names a new agent")


def _refuse_files_of_home(given: dict[str, Any]) -> None:
    """Raise UsageError for options that use files of a home on another machine."""
    asked = {
        "--estimate": given["is_estimated"],
        "--resume": given["resumes"],
        "--record": given["record"],
        "--model replay/FILE": _is_replay(given["model"]) or _is_replay(given["worker_model"]),
    }
    for option, is_given in asked.items():
        if is_given:
            hint = " (possible: `agiraph resume`, `agiraph attach`)" if given["resumes"] else ""
            raise click.UsageError(
                f"{option} cannot be used with --url: it works on files of the home{hint}"
            )


def _require_sound(terms: dict[str, Any], record: Path | None) -> None:
    if remote.is_elsewhere():
        _refuse_files_of_home(click.get_current_context().params)
    for term, value in terms.items():
        if isinstance(value, str):
            require_utf8(value, term)  # the current folder may have another name
    if record is not None:
        require_writable(record)


def _estimate(options: RunOptions) -> int:
    from cli.run.estimate import print_estimate

    return print_estimate(options)


def limits_of_run(budgets: "tuple[NamedLimit, ...]") -> dict[str, Any]:
    usd, tokens = together(budgets)
    return {"budget_usd": usd, "budget_tokens": tokens}


def _is_replay(model: str | None) -> bool:
    return model is not None and model.startswith(REPLAY)


def _absolute(model: str | None) -> str | None:
    """Return a model's name; that of a replay with the absolute path of its file."""
    if model is None or not _is_replay(model):
        return model
    return f"{REPLAY}{Path(model.removeprefix(REPLAY)).resolve()}"


def _checked_name(name: str | None) -> str | None:
    if name is not None and not (
        0 < len(name.strip()) <= 64 and name.isprintable() and "/" not in name
    ):
        raise click.UsageError("--name must be 1 to 64 printable characters and contain no '/'")
    return name


# --- starting only -------------------------------------------------------------------------------


def _start_only(options: RunOptions) -> int:
    started_at = time.monotonic()
    try:
        client = connect(options.home)
    except (GatewayAway, UrlUnreachable):
        raise
    except NotReachable as error:
        raise NotReachable(f"--detach needs a running supervisor: {error}") from None
    with client:
        screen = TerminalScreen(sys.stderr, is_live=False)
        send_input(options, client, screen)
        agent = RunTarget(options.home, client, None, screen).begin(options)
        show_ui(options, client, agent, remark)
    if options.as_json:
        from cli.run.outcome import print_started

        print_started(agent, time.monotonic() - started_at)
    else:
        click.echo(agent.id)
        remark(f"{agent.name} is running with {agent.model}; follow it with:")
        remark(f"  agiraph attach {agent.id}\n  agiraph console {agent.id}")
    return DONE


# --- running to the end --------------------------------------------------------------------------

"""The estimate of a run: its likely use, before the run begins."""

from typing import TYPE_CHECKING

import click

from cli.exits import DONE
from cli.options.shared import connect_to_read, settings_of
from cli.output.listing import print_json
from cli.run.target import RunOptions, default_model

if TYPE_CHECKING:
    from agiraph.http.client import Client
    from agiraph.models.run_costs import Estimate


def print_estimate(options: RunOptions) -> int:
    """Print the estimate of a run, which is not begun; return the exit code."""
    from agiraph.models.run_costs import in_words

    with connect_to_read(options.home) as client:
        found = estimate_of(options, client)
    if options.as_json:
        print_json(
            {
                "tokens": [found.low, found.high],
                "usd": [found.low_usd, found.high_usd],
                "basis": found.basis,
            }
        )
    else:
        click.echo(in_words(found))
    return DONE


def estimate_of(options: RunOptions, client: "Client") -> "Estimate":
    """Return the estimate of a run. Raises InvalidInput if its model or its plan is missing."""
    from agiraph.agent.run_estimate import estimate_run
    from agiraph.board.plans.plan import parse_plan

    plan = options.terms.get("plan")
    nodes = len(parse_plan(plan).nodes) if plan else None
    rows = client.usage(by="node").rows
    return estimate_run(options.home, _models(options, client), nodes, rows)


def _models(options: RunOptions, client: "Client") -> tuple[str, str]:
    """Return the models of coordinator and workers, by name."""
    last = client.agent(options.agent) if options.agent else None
    model = options.model or (last.model if last else "") or default_model(options.home)
    worker = options.terms.get("worker_model") or (last.worker_model if last else "")
    return model, worker or settings_of(options.home).models.worker or model

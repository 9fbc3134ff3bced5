"""`agiraph doctor`: is everything here that Agiraph needs, and what is to be done if not."""

import os
from pathlib import Path

import click

from agiraph.home import Home
from cli.exits import DONE, FAILED
from cli.listing import print_json
from cli.options import examples, home_option, json_option

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command(epilog=examples("agiraph doctor", "agiraph doctor --home /srv/team --json"))
@home_option
@json_option("one JSON object: ok, home, checks")
@click.pass_context
def doctor(ctx: click.Context, home: Path, as_json: bool) -> None:
    """Check this machine and this home, and say what to do about what is wrong.

    Needs no supervisor. Exits 1 if a check failed; warnings are no failure.
    """
    from cli.checkup import Patient, check_up

    checks = check_up(Patient(Home(home), os.environ))
    is_well = all(check.status != "fail" for check in checks)
    if as_json:
        rows = [check.as_json() for check in checks]
        print_json({"ok": is_well, "home": str(home), "checks": rows})
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            status = click.style(check.status.ljust(4), fg=_COLOURS[check.status])
            click.echo(f"{status}  {check.name.ljust(width)}  {check.detail}")
            if check.advice and check.status != "ok":
                click.echo(f"{'':4}  {'':{width}}  → {check.advice}")
    ctx.exit(DONE if is_well else FAILED)

"""`agiraph doctor` checks the requirements of Agiraph; `agiraph config` shows the settings."""

import os
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from agiraph.storage.home import Home
from cli.exits import DONE, FAILED
from cli.options.shared import Subcommands, examples, home_option, json_option
from cli.output.listing import print_json
from cli.sanitize import in_lines

if TYPE_CHECKING:
    from cli.doctor_checks.check import DoctorCheck

COLUMNS: Final = 80
GAPS: Final = 8
LEAST_ROOM: Final = 30
_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command(epilog=examples("agiraph doctor", "agiraph doctor --home /srv/team --json"))
@home_option
@json_option("one JSON object: ok, home, checks")
@click.pass_context
def doctor(ctx: click.Context, home: Path, as_json: bool) -> None:
    """Check this machine and this home, and say how to fix problems.

    Needs no supervisor. Exits 1 if a check fails; warnings are not failures.
    """
    from cli.doctor_checks import check_up
    from cli.doctor_checks.check import DoctorContext

    checks = check_up(DoctorContext(Home(home), os.environ))
    is_well = all(check.status != "fail" for check in checks.values())
    if as_json:
        rows = [{"name": name} | asdict(check) for name, check in checks.items()]
        print_json({"ok": is_well, "home": str(home), "checks": rows})
    else:
        _print(checks)
    ctx.exit(DONE if is_well else FAILED)


def _print(checks: "dict[str, DoctorCheck]") -> None:
    """Print a table of as many columns as the terminal has, 80 in a pipe."""
    wide = shutil.get_terminal_size((COLUMNS, 24)).columns if sys.stdout.isatty() else COLUMNS
    width = max(map(len, checks))
    room = max(wide - width - GAPS, LEAST_ROOM)
    for name, check in checks.items():
        status = click.style(check.status.ljust(4), fg=_COLOURS[check.status])
        first, *others = in_lines(check.detail, room)
        click.echo(f"{status}  {name.ljust(width)}  {first}")
        if check.advice and check.status != "ok":
            others += in_lines(f"→ {check.advice}", room)
        for line in others:
            click.echo(f"{'':4}  {'':{width}}  {line}")


# --- settings ------------------------------------------------------------------------------------


@click.group(
    cls=Subcommands,
    invoke_without_command=True,
    epilog=examples("agiraph config", "agiraph config show", "agiraph config schema"),
)
@home_option
@json_option("a JSON array: key, value, from")
@click.pass_context
def config(ctx: click.Context, home: Path, as_json: bool) -> None:
    """Show changed settings and their sources; all settings in force; or their schema.

    Order of precedence: option, environment, .agiraph.toml of the project, agiraph.yaml in the
    home. Write only the settings that you change.
    """
    if ctx.invoked_subcommand is None:
        from cli.settings_sources import is_on_the_line, sources

        is_named = is_on_the_line(ctx, "home")
        sources(home, is_named=is_named).print(as_json=as_json)


@config.command(
    epilog=examples("agiraph config show", "agiraph config show --config mine.yaml --json")
)
@home_option
@click.option(
    "--config",
    "file",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A settings file that overrides the home's own.",
)
@json_option("one JSON object")
def show(home: Path, file: Path | None, as_json: bool) -> None:
    """Print the settings in force: the defaults, overridden by the settings of this home."""
    import yaml

    from agiraph.settings import mcp_servers as mcp_settings
    from agiraph.settings.channels import without_secrets
    from agiraph.settings.config import load_config
    from agiraph.settings.yaml_text import present
    from agiraph.tools.approvals.policy_file import policy_file, read_policy
    from agiraph.tools.table import tool_names

    own = Home(home).config
    files = present(*(path for path in (own, file) if path is not None))
    settings = load_config(*files).model_dump(mode="json")
    settings["channels"] = without_secrets(settings["channels"])
    servers = mcp_settings.without_secrets(settings["mcp"]["servers"])
    settings["mcp"] = settings["mcp"] | {"servers": servers}
    read_policy(policy_file(home), tool_names())  # raises if it is invalid
    if as_json:
        print_json(settings)
        return
    click.echo(f"# {', '.join(map(str, files))} over the defaults" if files else "# the defaults")
    click.echo(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True), nl=False)


@config.command(epilog=examples("agiraph config schema > agiraph.schema.json"))
def schema() -> None:
    """Print the JSON Schema of the settings, for editors and validators."""
    from agiraph.settings.config import Config

    print_json(Config.model_json_schema())

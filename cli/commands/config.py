"""`agiraph config`: the settings in force on a home, and the schema of all settings."""

from pathlib import Path

import click

from agiraph.core import mcp_settings
from agiraph.core.channel_settings import without_secrets
from agiraph.core.config import Config, load_config
from agiraph.storage.home import Home
from agiraph.tools.approvals.policy_file import policy_file, read_policy
from agiraph.tools.table import tool_names
from cli.listing import print_json
from cli.options import examples, home_option


@click.group(epilog=examples("agiraph config show", "agiraph config schema"))
def config() -> None:
    """Show the settings in force, or the schema of all settings.

    Your own settings are in agiraph.yaml in the home; write only those that you change.
    """


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
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(home: Path, file: Path | None, as_json: bool) -> None:
    """Print the settings in force: the defaults, overridden by those of this home."""
    import yaml

    own = Home(home).config
    files = [path for path in (own, file) if path is not None and path.is_file()]
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
    print_json(Config.model_json_schema())

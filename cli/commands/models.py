"""`agiraph models`: which models can be used, and why others cannot."""

import os
from pathlib import Path
from typing import Any

import click

from agiraph.http.errors import GatewayAway, NotReachable
from cli.listing import Column, JsonObject, print_listing
from cli.options import connect, examples, home_option, json_option


def _yes(value: Any) -> str:
    return "yes" if value else "no"


def _short(reason: Any) -> str:
    """Return a reason shortened for a narrow table."""
    text = str(reason).partition(";")[0].partition(":")[0]
    missing = text.removesuffix(" is not set")
    return text if missing == text else f"set {missing.partition(' or ')[0]}"


def _own_name(model: Any) -> str:
    """Return a model's name without its provider, which is shown beside it."""
    return str(model or "").partition("/")[2]


COLUMNS = (
    Column("PROVIDER", "name"),
    Column("USABLE", "usable", _yes),
    Column("WHY", "reason", _short),
    Column("DEFAULT MODEL", "default_model", _own_name, wide=True),
    Column("FORMAT", "api", spare=1),
    Column("CONTEXT", "context", spare=2),
    Column("ENDPOINT", "base_url", spare=3),
)


@click.command(epilog=examples("agiraph models", "agiraph models --json"))
@home_option
@json_option("a JSON array: name, usable, reason, default_model, base_url, api, context ...")
def models(home: Path, as_json: bool) -> None:
    """List the providers, whether each is usable, the reason, and the default model.

    Without a running supervisor, this shows what one started from this shell would find.
    """
    try:
        with connect(home) as client:
            found = client.models()
            rows, default = [dict(row) for row in found.providers], found.default
    except GatewayAway:
        raise
    except NotReachable:
        rows, default = _of_this_shell(home)
        if not as_json:
            click.echo("no supervisor is running on this home: as seen from this shell", err=True)
    print_listing(rows, COLUMNS, as_json=as_json, empty="no providers")
    if not as_json:
        click.echo(f"default: {default}", err=True)


def _of_this_shell(home: Path) -> tuple[list[JsonObject], str]:
    from agiraph.core.config import load_config
    from agiraph.llm.prices import catalog, load_prices
    from agiraph.llm.registry import load_presets, pick_default
    from agiraph.storage.home import Home

    own = Home(home).config
    config = load_config(*([own] if own.is_file() else []))
    presets, environ = load_presets(home / "providers.yaml"), dict(os.environ)
    prices = load_prices(home / "prices.yaml")
    rows = list(catalog(presets, environ, prices, offline=config.models.offline))
    return rows, pick_default(config, presets, environ)[0]

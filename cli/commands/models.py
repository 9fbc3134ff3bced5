"""`agiraph models` and `agiraph outside`: the models and external agents that can be used."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click

from agiraph.http.errors import GatewayAway, NotReachable, UrlUnreachable
from cli.options.everywhere import remark
from cli.options.remote import is_elsewhere
from cli.options.shared import connect, examples, home_option, json_option, settings_of
from cli.output.formats import yes_or_no
from cli.output.listing import Column, JsonObject, Listing, to_rows


def _short(reason: Any) -> str:
    """Return a reason shortened for a narrow table."""
    text = str(reason).partition(";")[0].partition(":")[0]
    missing = text.removesuffix(" is not set")
    return text if missing == text else f"set {missing.partition(' or ')[0]}"


def _own_name(model: Any) -> str:
    """Return a model's name without its provider (which has another column)."""
    return str(model or "").partition("/")[2]


MODELS = (
    Column("PROVIDER", "name"),
    Column("USABLE", "usable", yes_or_no),
    Column("WHY", "reason", _short, wide=True, wraps=True),
    Column("DEFAULT MODEL", "default_model", _own_name),
    Column("FORMAT", "api", spare=1),
    Column("CONTEXT", "context", spare=2),
    Column("ENDPOINT", "base_url", spare=3),
)


def _where(row: JsonObject) -> str:
    return str(row["problem"] or row["program"] or row["install"])


AGENTS = (
    Column("AGENT", "name"),
    Column("INSTALLED", "installed", yes_or_no),
    Column("VERSION", "version", spare=1),
    Column("RULES", "rules"),
    Column("ACCOUNT", "account", spare=2),
    Column("PROGRAM, OR HOW TO INSTALL IT, OR PROBLEM", "", _where, wide=True, wraps=True),
)
VERSION_SECONDS = 10
VERSION_CHARACTERS = 40


@click.command(epilog=examples("agiraph models", "agiraph models --json"))
@home_option
@json_option("a JSON array: name, usable, reason, default_model, base_url, api, context ...")
def models(home: Path, as_json: bool) -> None:
    """List the providers, whether each is usable, the reason, and the default model.

    Model servers on this machine are asked whether they answer; for others, a key counts (`agiraph
    init --try` makes one call).
    Without a running supervisor, the models are shown as a supervisor of this shell would find
    them.
    """
    try:
        with connect(home) as client:
            found = client.models()
            rows = [dict(row) for row in found.providers]
            default, why = found.default, found.why
    except (GatewayAway, UrlUnreachable):
        raise
    except NotReachable:
        rows, default, why = _of_this_shell(home)
        if not as_json:
            remark("no supervisor is running on this home: as seen from this shell")
    Listing(rows, MODELS, "no providers").print(as_json=as_json)
    if not as_json:
        remark(f"default: {default} ({why})" if default else f"default: none: {why}")


def _of_this_shell(home: Path) -> tuple[list[JsonObject], str | None, str]:
    from agiraph.models.local_servers import find_servers, with_answers, with_files
    from agiraph.models.prices import catalog, load_prices
    from agiraph.models.registry import load_presets, pick_default

    config = settings_of(home)
    presets, environ = load_presets(home / "providers.yaml"), dict(os.environ)
    prices = load_prices(home / "prices.yaml")
    rows = catalog(presets, environ, prices, offline=config.models.offline)
    answered = with_answers(rows, find_servers(presets, environ))
    return list(with_files(answered, home)), *pick_default(config, presets, environ)


# --- external agents -----------------------------------------------------------------------------


@click.command(epilog=examples("agiraph outside", "agiraph outside --json"))
@home_option
@json_option("a JSON array: name, about, installed, version, program, install, rules, problem, ...")
def outside(home: Path, as_json: bool) -> None:
    """List the external agents that can be workers, and whether they are installed and usable.

    Any other command line can be an external agent, too. Programs are looked up in the PATH of
    this shell; a supervisor uses the PATH it was started with, also with --url. RULES says how
    approvals.yaml is enforced: `asked`, the agent asks before each action and the rules answer;
    `denied`, its own configuration denies; `sandbox`, only the sandbox limits it (as for any
    command line). ACCOUNT: `door`, it calls models through Agiraph's LLM proxy and has no key;
    `own`, it uses your own login, and can read your keys and settings.
    """
    from agiraph.external.preflight import agent_row
    from agiraph.external.preset import ExternalAgent, known_agents
    from agiraph.tools.sandbox.sandbox import find_sandbox

    if is_elsewhere():
        with connect(home) as client:
            found = [row | {"version": None} for row in to_rows(client.external_agents())]
        Listing(found, AGENTS, "no external agents").print(as_json=as_json)
        return
    wall = find_sandbox(settings_of(home).sandbox)

    def row(agent: ExternalAgent) -> JsonObject:
        program = agent.program
        version = _version(program, agent.preset.version) if program else None
        return agent_row(agent, wall, os.environ) | {"version": version}

    with ThreadPoolExecutor() as pool:
        rows = list(pool.map(row, known_agents(home, os.environ)))
    Listing(rows, AGENTS, "no external agents").print(as_json=as_json)


def _version(program: str, arguments: tuple[str, ...]) -> str | None:
    """Return the version that a program prints; None if it takes over VERSION_SECONDS."""
    if not arguments:
        return None
    try:
        done = subprocess.run(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.strip().splitlines()
    return lines[0][:VERSION_CHARACTERS] if lines and not done.returncode else None

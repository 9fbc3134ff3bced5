"""`agiraph outside`: which external agents can be workers, and how to install the others."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click

from agiraph.storage.home import Home
from cli.listing import Column, JsonObject, print_listing
from cli.options import examples, home_option, json_option

VERSION_SECONDS = 10
VERSION_CHARACTERS = 40


def _yes(value: Any) -> str:
    return "yes" if value else "no"


COLUMNS = (
    Column("AGENT", "name"),
    Column("INSTALLED", "installed", _yes),
    Column("VERSION", "version", spare=1),
    Column("RULES", "rules"),
    Column("ACCOUNT", "account", spare=2),
    Column("PROGRAM, OR HOW TO INSTALL IT, OR PROBLEM", "where", wide=True),
)


@click.command(epilog=examples("agiraph outside", "agiraph outside --json"))
@home_option
@json_option("a JSON array: name, about, installed, version, program, install, rules, problem, ...")
def outside(home: Path, as_json: bool) -> None:
    """List the external agents that can be workers, and whether they are installed and usable.

    Any other command line can be an external agent, too. Programs are looked up in the PATH of
    this shell; a supervisor uses the PATH it was started with. RULES says how approvals.yaml is
    enforced: `asked`, the agent asks before each action and the rules answer; `denied`, its own
    configuration denies; `sandbox`, it does not ask, and only the sandbox limits it (as for any
    command line). ACCOUNT: `door`, it calls models through Agiraph's LLM proxy and has no key;
    `own`, it uses your own login, and can read your keys and settings.
    """
    from agiraph.core.config import load_config
    from agiraph.external.preflight import why_not_confined
    from agiraph.external.preset import ExternalAgent, known_agents
    from agiraph.tools.sandbox.sandbox import find_sandbox

    own = Home(home).config
    wall = find_sandbox(load_config(*([own] if own.is_file() else [])).sandbox)

    def row(agent: ExternalAgent) -> JsonObject:
        preset, program = agent.preset, agent.program
        return {
            "name": agent.name,
            "about": preset.about,
            "installed": program is not None,
            "version": _version(program, preset.version) if program else None,
            "program": program,
            "install": preset.install,
            "driver": preset.driver,
            "account": preset.account,
            "rules": preset.rules,
            "problem": why_not_confined(agent, wall, os.environ),
        }

    with ThreadPoolExecutor() as pool:
        rows = list(pool.map(row, known_agents(home, os.environ)))
    if not as_json:
        rows = [one | {"where": one["problem"] or one["program"] or one["install"]} for one in rows]
    print_listing(rows, COLUMNS, as_json=as_json, empty="no external agents")


def _version(program: str, arguments: tuple[str, ...]) -> str | None:
    """Return the version that a program prints; None if it does not within VERSION_SECONDS."""
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

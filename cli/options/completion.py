"""Shell completions besides commands and options: agents, entities, hosts, nodes and models.

They are read from the home's files: that is fast, and needs no supervisor.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from agiraph.core.errors import InvalidInput
from agiraph.core.hosts import HOME_HOST
from agiraph.core.json_text import parse_json
from agiraph.storage.files import entries, read_bytes, read_shown
from agiraph.storage.home import Home
from cli.options.everywhere import home_of
from cli.options.remote import is_elsewhere

LOG: Final = ".log"
Find = Callable[[click.Context, str], Iterable[str]]


class Named(click.types.StringParamType):
    """A text argument for which a shell completes the names that `find` returns."""

    def __init__(self, find: Find) -> None:
        self._find = find

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem[Any]]:
        """Return the names that begin with the text; none of a home on another machine."""
        with ctx.scope(cleanup=False):
            if is_elsewhere():
                return []
        found = sorted(set(self._find(ctx, incomplete)))
        return [CompletionItem(name) for name in found if name.startswith(incomplete)]


def with_completion(command: click.Command) -> None:
    """Let a shell complete the names that a command and its subcommands accept."""
    for parameter in command.params:
        find = _FOUND_BY.get(parameter.name or "")
        if find is not None and parameter.type is click.STRING:
            parameter.type = Named(find)
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        with_completion(inner)


def _folders(place: Path) -> list[str]:
    try:
        return [one.name for one in entries(place) if one.kind == "folder"]
    except OSError:
        return []


def _agents(ctx: click.Context, _incomplete: str = "") -> list[str]:
    return _folders(home_of(ctx) / "agents")


def _entities(ctx: click.Context, _incomplete: str) -> list[str]:
    """Return the names of agents, and the address of each process that has a log."""
    try:
        logs = entries(Home(home_of(ctx)).system.logs)
    except OSError:
        logs = []
    names = (one.name.removesuffix(LOG) for one in logs if one.name.endswith(LOG))
    return [*_agents(ctx), *(name.replace(".", "/", 1) for name in names)]


def _nodes(ctx: click.Context, _incomplete: str) -> list[str]:
    """Return the names of the nodes in the latest run of the agent on the command line."""
    named = str(ctx.params.get("agent") or next(iter(ctx.args), ""))  # unread before an option
    agent = next((id for id in _agents(ctx) if id == named or id.rpartition("-")[0] == named), "")
    runs = Home(home_of(ctx)).agent(agent).runs if agent else None
    latest = max(_folders(runs), default=None) if runs else None
    if runs is None or latest is None:
        return []
    nodes = Home(home_of(ctx)).agent(agent).run(latest).nodes
    specs = (read_shown(nodes / folder / "_spec.md", 200) for folder in _folders(nodes))
    return [spec.partition("\n")[0].removeprefix("# ") for spec in specs if spec]


def _hosts(ctx: click.Context, _incomplete: str) -> list[str]:
    try:
        known = parse_json(read_bytes(Home(home_of(ctx)).system.hosts))["hosts"]
        return [HOME_HOST, *(host["name"] for host in known)]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _models(ctx: click.Context, _incomplete: str) -> list[str]:
    from agiraph.models.local_servers import playbook_names
    from agiraph.models.prices import load_prices
    from agiraph.models.registry import load_presets
    from agiraph.settings.config import configs_folder

    home = home_of(ctx)
    try:
        presets = load_presets(home / "providers.yaml")
        prices = load_prices(home / "prices.yaml")
    except InvalidInput:
        return []
    usual = (f"{name}/{one.usual_model}" for name, one in presets.items() if one.usual_model)
    played = (f"script/{name}" for name in playbook_names(configs_folder() / "playbooks"))
    return [*dict.fromkeys([*prices, *usual, *played])]


_FOUND_BY: Final[dict[str, Find]] = {
    "agent": _agents,
    "agents": _agents,
    "entity": _entities,
    "host": _hosts,
    "node": _nodes,
    "model": _models,
    "worker_model": _models,
}

"""Parts besides Agiraph: sandbox, models, external agents, tool servers, web, channels, traces."""

import importlib.util
import os
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agiraph.core.errors import InvalidInput
from agiraph.tools.sandbox.inventory import inventory
from agiraph.tools.sandbox.sandbox import Sandbox, find_sandbox
from agiraph.tools.sandbox.toolchain import toolchain
from cli.doctor_checks.check import MOST_SHOWN, DoctorCheck, DoctorContext, fail, ok, warn

if TYPE_CHECKING:
    from agiraph.external.preset import ExternalAgent
    from agiraph.tools.approvals.policy import ApprovalPolicy


def check_sandbox(context: DoctorContext) -> DoctorCheck:
    """Test the sandbox for models' commands."""
    config = context.settings().sandbox
    wall = find_sandbox(config)
    if wall.is_up:
        network = "the network" if config.network else "no network"
        detail = (
            f"commands run in {wall.found.program}, with {network}; so does the reader of web pages"
        )
        if config.network and not wall.found.can_scope:
            detail += ", which reaches this machine's abstract Unix sockets (D-Bus, X11) too"
        return ok(f"{detail} (mode {config.mode})")
    if wall.is_required:
        detail = f"required, but not available, so commands are refused: {wall.why_missing}"
        return fail(detail, _advice(wall))
    detail = (
        f"none, so commands and the reader of web pages can read what you can: {wall.why_missing}"
    )
    return warn(detail, _advice(wall))


def check_tools(context: DoctorContext) -> DoctorCheck:
    """List the programs that models' commands have in the sandbox, and those out of reach."""
    wall = find_sandbox(context.settings().sandbox)
    path = context.environ.get("PATH", os.defpath)
    if not wall.is_up:
        return ok(f"commands have your PATH: {', '.join(inventory(path)) or 'no known program'}")
    tools = toolchain(path)
    own = [
        one
        for one in tools.path.split(os.pathsep)
        if not one.startswith(("/usr/", "/bin", "/sbin"))
    ]
    detail = f"in the sandbox: {', '.join(inventory(tools.path)) or 'no known program'}"
    detail += f"; shown besides the system's programs: {', '.join(own)}" if own else ""
    if not tools.out_of_reach:
        return ok(detail)
    some = ", ".join(tools.out_of_reach[:MOST_SHOWN])
    more = len(tools.out_of_reach) - MOST_SHOWN
    rest = f" and {more} more" if more > 0 else ""
    return warn(
        f"{detail}; out of reach: {some}{rest}",
        "add the folders that they need to sandbox.readable (docs/sandbox.md)",
    )


def _advice(wall: Sandbox) -> str:
    return wall.advice or "see docs/sandbox.md"


def check_agents(context: DoctorContext) -> DoctorCheck:
    """Find the external agents that can be workers; none is required."""
    from agiraph.external.preflight import unenforced, why_not_confined
    from agiraph.external.preset import known_agents

    try:
        agents = known_agents(context.home.path, context.environ)
    except InvalidInput as error:
        return fail(str(error), "fix that line of agents.yaml")
    there = [agent for agent in agents if agent.program]
    missing = ", ".join(agent.name for agent in agents if not agent.program)
    detail = f"installed: {_names(there) or 'none'}"
    detail += f"; not installed: {missing} (see `agiraph outside`)" if missing else ""
    if own := [agent for agent in there if agent.preset.account == "own"]:
        detail += f"; with your own login, keys and settings: {_names(own)}"
    advice: list[str] = []
    policy = _policy_of(context)
    wall = find_sandbox(context.settings().sandbox)
    free = [agent for agent in there if unenforced(agent, policy)]
    if refused := [agent for agent in free if not agent.preset.rule_exempt]:
        detail += f"; refused, as your approvals.yaml cannot be enforced: {_names(refused)}"
        advice.append(
            "use agents that ask, or set `rule_exempt: true` for these"
            " (docs/external-agents.md, Rules)"
        )
    if exempt := [agent for agent in free if agent.preset.rule_exempt]:
        detail += f"; not bound by your approvals.yaml: {_names(exempt)}"
    problems = {agent.name: why_not_confined(agent, wall, context.environ) for agent in there}
    if found := [f"{name} cannot work here: {why}" for name, why in problems.items() if why]:
        detail = "; ".join([detail, *found])
        advice.append(_advice(wall))
    if advice:
        return warn(detail, "; ".join(advice))
    return ok(detail)


def _names(agents: "Sequence[ExternalAgent]") -> str:
    return ", ".join(agent.name for agent in agents)


def _policy_of(context: DoctorContext) -> "ApprovalPolicy":
    """Return the rules in force; none if unreadable, which another check reports."""
    from agiraph.tools.approvals.policy import ApprovalPolicy
    from agiraph.tools.approvals.policy_file import policy_file, read_policy
    from agiraph.tools.table import tool_names

    try:
        return read_policy(policy_file(context.home.path), tool_names())
    except InvalidInput:
        return ApprovalPolicy()


def check_servers(context: DoctorContext) -> DoctorCheck:
    """Check that the tool servers can be started."""
    from agiraph.mcp.secrets import read_secrets, why_unusable

    servers = context.settings().mcp.servers
    if not servers:
        return ok("none is configured (docs/tools.md)")
    if importlib.util.find_spec("mcp") is None:
        return fail("no MCP SDK", "pip install 'agiraph[mcp]'")
    known = {**read_secrets(context.home.system.secrets), **context.environ}
    problems = [why_unusable(name, servers[name], known) for name in sorted(servers)]
    if found := "; ".join(filter(None, problems)):
        return warn(found, "see docs/tools.md")
    return ok(", ".join(sorted(servers)))


def check_providers(context: DoctorContext) -> DoctorCheck:
    """Check that there is a model for a goal that names none."""
    from agiraph.models.registry import load_presets, pick_default, usable

    presets, config = load_presets(context.home.path / "providers.yaml"), context.settings()
    listed = usable(presets, context.environ, offline=config.models.offline)
    rows = [row for row in listed if not row["local"]]
    ready = [f"{row['name']} ({row['reason']})" for row in rows if row["usable"]]
    wanting = dict.fromkeys(str(row["reason"]) for row in rows if not row["usable"])
    reasons = ", ".join(wanting)
    more = f"; not usable: {reasons}" if reasons else ""
    default, why = pick_default(config, presets, context.environ)
    if default is None:
        detail, _, advice = why.partition("; possible: ")
        return warn(f"{detail}{more}", advice)
    return ok(f"default: {default} ({why}); usable: {', '.join(ready) or 'none'}{more}")


def check_search(context: DoctorContext) -> DoctorCheck:
    """Check that a search service is available for `web_search`."""
    from agiraph.tools.web.services import advice, chosen, why_unusable

    web = context.settings().web
    name = chosen(web.search, web.search_url, context.environ)
    has_ddgs = importlib.util.find_spec("ddgs") is not None
    reason = why_unusable(name, web.search_url, context.environ, has_ddgs=has_ddgs)
    if reason is None:
        return ok(f"{name} (web.search is {web.search})")
    return warn(f"{name} cannot be used: {reason}", advice(name))


def check_pages(_context: DoctorContext) -> DoctorCheck:
    """Check that the main text of web pages can be extracted."""
    if importlib.util.find_spec("trafilatura") is not None:
        return ok("trafilatura extracts the main text of a page")
    detail = (
        "trafilatura is not installed; pages are read whole, with navigation and advertisements"
    )
    return warn(detail, "pip install 'agiraph[web]'")


def check_channels(context: DoctorContext) -> DoctorCheck:
    """Check that the variables and programs for the channels exist."""
    from agiraph.settings.variables import variables_in

    channels = context.settings().channels
    if not channels:
        return ok("none is configured (docs/humans.md)")
    plain = {name: one.model_dump(mode="json") for name, one in channels.items()}
    missing = sorted(name for name in variables_in(plain) if not context.environ.get(name))
    if missing:
        advice = f"export {missing[0]}=... where the supervisor is started"
        return warn(f"not set: {', '.join(missing)}", advice)
    needs_screen = any(one.kind == "desktop" for one in channels.values())
    if needs_screen and not (shutil.which("notify-send") or shutil.which("osascript")):
        detail = "neither notify-send nor osascript is installed for the desktop channel"
        return warn(detail, "install libnotify (apt install libnotify-bin)")
    return ok(", ".join(sorted(channels)))


def check_traces(context: DoctorContext) -> DoctorCheck:
    """Check that traces can be sent, if they are configured."""
    endpoint = context.settings().telemetry.otlp_endpoint
    endpoint = endpoint or context.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    if not endpoint:
        return ok("not sent (telemetry.otlp_endpoint is empty)")
    if importlib.util.find_spec("opentelemetry") is None or not _has_exporter():
        detail = f"should go to {endpoint}, but OpenTelemetry is not installed"
        return warn(detail, "pip install 'agiraph[otel]'")
    return ok(f"sent to {endpoint}")


def _has_exporter() -> bool:
    try:
        return importlib.util.find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False

"""What runs beside Agiraph's own processes: the sandbox, external agents, tool servers."""

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agiraph.core.errors import InvalidInput
from agiraph.tools.sandbox.sandbox import Sandbox, find_sandbox
from cli.doctor_checks.check import DoctorCheck, DoctorContext

if TYPE_CHECKING:
    from agiraph.external.preset import ExternalAgent
    from agiraph.tools.approvals.policy import ApprovalPolicy


def check_sandbox(context: DoctorContext) -> DoctorCheck:
    """Models' commands run in a sandbox, which is tried."""
    config = context.settings().sandbox
    wall = find_sandbox(config)
    if wall.is_up:
        network = "the network" if config.network else "no network"
        detail = (
            f"commands run in {wall.found.program}, with {network}; so does the reader of web pages"
        )
        if config.network and not wall.found.can_scope:
            detail += ", which reaches this machine's abstract Unix sockets (D-Bus, X11) too"
        return DoctorCheck("sandbox", "ok", f"{detail} (mode {config.mode})")
    if wall.is_required:
        detail = f"required, but not available, so commands are refused: {wall.why_missing}"
        return DoctorCheck("sandbox", "fail", detail, _advice(wall))
    detail = (
        f"none, so commands and the reader of web pages can read what you can: {wall.why_missing}"
    )
    return DoctorCheck("sandbox", "warn", detail, _advice(wall))


def _advice(wall: Sandbox) -> str:
    return wall.advice or "see docs/sandbox.md"


def check_agents(context: DoctorContext) -> DoctorCheck:
    """Which external agents can be workers; none is required."""
    from agiraph.external.preflight import rules_not_enforced, why_not_confined
    from agiraph.external.preset import known_agents

    try:
        agents = known_agents(context.home.path, context.environ)
    except InvalidInput as error:
        return DoctorCheck("external agents", "fail", str(error), "fix that line of agents.yaml")
    there = [agent for agent in agents if agent.program]
    missing = ", ".join(agent.name for agent in agents if not agent.program)
    detail = f"installed: {_names(there) or 'none'}"
    detail += f"; not installed: {missing} (see `agiraph outside`)" if missing else ""
    if own := [agent for agent in there if agent.preset.account == "own"]:
        detail += f"; with your own login, keys and settings: {_names(own)}"
    advice: list[str] = []
    policy = _policy_of(context)
    if free := [agent for agent in there if rules_not_enforced(agent, policy)]:
        detail += f"; not bound by your approvals.yaml: {_names(free)}"
        advice.append(
            "where the rules must be enforced, use agents that ask (docs/outside.md, Rules)"
        )
    wall = find_sandbox(context.settings().sandbox)
    problems = {agent.name: why_not_confined(agent, wall, context.environ) for agent in there}
    if found := [f"{name} cannot work here: {why}" for name, why in problems.items() if why]:
        detail = "; ".join([detail, *found])
        advice.append(_advice(wall))
    if advice:
        return DoctorCheck("external agents", "warn", detail, "; ".join(advice))
    return DoctorCheck("external agents", "ok", detail)


def _names(agents: "Sequence[ExternalAgent]") -> str:
    return ", ".join(agent.name for agent in agents)


def _policy_of(context: DoctorContext) -> "ApprovalPolicy":
    """Return the rules in force, none if they cannot be read: another check reports that."""
    from agiraph.tools.approvals.policy import ApprovalPolicy
    from agiraph.tools.approvals.policy_file import policy_file, read_policy
    from agiraph.tools.table import tool_names

    try:
        return read_policy(policy_file(context.home.path), tool_names())
    except InvalidInput:
        return ApprovalPolicy()


def check_servers(context: DoctorContext) -> DoctorCheck:
    """The tool servers can be started."""
    from agiraph.mcp.secrets import read_secrets, why_unusable

    servers = context.settings().mcp.servers
    if not servers:
        return DoctorCheck("tool servers", "ok", "none is configured (docs/mcp.md)")
    if importlib.util.find_spec("mcp") is None:
        return DoctorCheck("tool servers", "fail", "no MCP SDK", "pip install 'agiraph[mcp]'")
    known = {**read_secrets(context.home.system.secrets), **context.environ}
    problems = [why_unusable(name, servers[name], known) for name in sorted(servers)]
    if found := "; ".join(filter(None, problems)):
        return DoctorCheck("tool servers", "warn", found, "see docs/mcp.md")
    return DoctorCheck("tool servers", "ok", ", ".join(sorted(servers)))

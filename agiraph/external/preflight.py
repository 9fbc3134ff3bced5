"""Preflight: what is checked and said before an external agent starts.

Which rules of approvals.yaml do not apply to it, and whether its own sandbox works here: Codex
confines its commands by user namespaces. Where the kernel forbids them, as Docker does by default,
each of its commands fails, and Codex continues without any.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from agiraph.core.config import SandboxConfig
from agiraph.core.errors import InvalidInput
from agiraph.core.turns import JsonObject
from agiraph.external.preset import DISABLED, ExternalAgent, load_agents, meant_by
from agiraph.tools.approvals.policy import SPEND, ActingEntity, ApprovalPolicy, ApprovalRule
from agiraph.tools.sandbox.sandbox import Sandbox, find_sandbox

COUNTED_TOOLS = ("bash", "read_file", "write_file", "web_fetch", "web_search")
"""The tools of Agiraph's that the tools of an external agent count as."""
TRIAL_SECONDS = 10.0
SHOWN_CHARACTERS = 300
NOT_REASONS = ("WARNING:", "note:", "stack backtrace:")
USAGE_ERROR = 2


def check_agent_command(
    agent_command: str | None, home: Path, config: SandboxConfig, environ: Mapping[str, str]
) -> None:
    """Raise InvalidInput unless an autonomous worker can be run with this command here."""
    agent = meant_by(agent_command or "", load_agents(home), environ)
    agent.required()
    if agent.preset.trial:
        require_sandbox(agent, find_sandbox(config), environ)


def agent_row(agent: ExternalAgent, sandbox: Sandbox, environ: Mapping[str, str]) -> JsonObject:
    """Return what is known of an external agent, for people who choose one."""
    preset = agent.preset
    return {
        "name": agent.name,
        "about": preset.about,
        "installed": agent.program is not None,
        "program": agent.program,
        "install": preset.install,
        "driver": preset.driver,
        "account": preset.account,
        "rules": preset.rules,
        "problem": why_not_confined(agent, sandbox, environ) if preset.enabled else DISABLED,
    }


# --- rules ---------------------------------------------------------------------------------------


def warnings_about(agent: ExternalAgent, policy: ApprovalPolicy, who: ActingEntity) -> list[str]:
    """Return what the author of these rules has to know of this agent; mostly nothing.

    `who` is the worker that the agent works for.
    """
    warnings: list[str] = []
    if rules := rules_not_enforced(agent, policy, who):
        warnings.append(_not_enforced(agent, rules, is_sandboxed=who.is_sandboxed))
    if spending := policy.strict((SPEND,), who):
        limit = "a budget stops it" if agent.preset.account == "door" else "nothing stops it"
        warnings.append(
            f"{_named(spending)} of approvals.yaml cannot ask before {agent.name} calls a model "
            f"({limit}: `agiraph budget`)"
        )
    if agent.preset.account == "own":
        warnings.append(
            f"{agent.name} works with your own login and HOME: it can read your keys and settings "
            "there, and what it spends is not counted here"
        )
    return warnings


def rules_not_enforced(
    agent: ExternalAgent, policy: ApprovalPolicy, who: ActingEntity | None = None
) -> list[ApprovalRule]:
    """Return the rules that would ask for or deny what this agent does, and cannot."""
    return [] if agent.preset.rules == "asked" else policy.strict(COUNTED_TOOLS, who)


def _not_enforced(
    agent: ExternalAgent, rules: Sequence[ApprovalRule], *, is_sandboxed: bool
) -> str:
    if agent.preset.rules == "denied":
        limit = "its own configuration says what it may not do"
    else:
        limit = "only the sandbox confines it" if is_sandboxed else "and no sandbox of ours does"
    verb = "does" if len(rules) == 1 else "do"
    text = f"{agent.name} does not ask before it acts: {_named(rules)} of approvals.yaml"
    return f"{text} {verb} not apply to it; {limit}"


def _named(rules: Sequence[ApprovalRule]) -> str:
    names = ", ".join(f"'{rule.name}'" for rule in rules)
    return f"the rule {names}" if len(rules) == 1 else f"the rules {names}"


# --- its own sandbox -----------------------------------------------------------------------------


def require_sandbox(agent: ExternalAgent, sandbox: Sandbox, environ: Mapping[str, str]) -> None:
    """Raise InvalidInput with the reason if this agent cannot work here."""
    if why := why_not_confined(agent, sandbox, environ):
        raise InvalidInput(f"the external agent '{agent.name}' cannot work here: {why}")


def why_not_confined(agent: ExternalAgent, sandbox: Sandbox, environ: Mapping[str, str]) -> str:
    """Return why this agent cannot work here, and what can be done, '' if it can.

    In a sandbox of Agiraph's it needs none of its own. Blocks for some tenths of a second the first
    time in a process.
    """
    if sandbox.is_up or not agent.preset.trial or agent.program is None:
        return ""
    words = [agent.program if word == "{program}" else word for word in agent.preset.trial]
    problem = _try(tuple(words), environ.get("PATH", os.defpath))
    if not problem:
        return ""
    advice = f" ({sandbox.advice})" if sandbox.advice else ""
    return (
        f"its own sandbox does not work ({problem}), and there is none of Agiraph's: "
        f"{sandbox.why_missing}{advice}. To let it run in none, see docs/outside.md"
    )


@lru_cache(maxsize=16)
def _try(command: tuple[str, ...], path: str) -> str:
    """Return why a trial failed, '' if it did not, or if the program knows no such trial."""
    program = shutil.which(command[0], path=path)
    if program is None:
        return f"{command[0]} is not installed"
    with tempfile.TemporaryDirectory() as home:
        temporary = os.path.join(home, "tmp")
        os.mkdir(temporary)  # plain: of this trial alone
        try:
            ended = subprocess.run(
                [program, *command[1:]],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TRIAL_SECONDS,
                check=False,
                cwd=home,
                env={"PATH": path, "HOME": home, "TMPDIR": temporary},
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
    if ended.returncode in (0, USAGE_ERROR):
        return ""
    lines = map(str.strip, ended.stderr.decode("utf-8", "replace").splitlines())
    reasons = [line for line in lines if line and not line.startswith(NOT_REASONS)]
    return reasons[-1][:SHOWN_CHARACTERS] if reasons else f"exit code {ended.returncode}"

"""Preflight: the checks before an external agent starts.

They check whether each rule of approvals.yaml can be enforced for it, and whether its own sandbox
works here. Codex confines its commands with user namespaces. If the kernel forbids them, as in
Docker by default, each of its commands fails, and Codex continues without running any.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from agiraph.core.errors import InvalidInput
from agiraph.core.ids import split_model
from agiraph.core.specs import AskedAgent
from agiraph.core.turns import JsonObject
from agiraph.external.launching import require_safe_name
from agiraph.external.preset import (
    COMMAND,
    DISABLED,
    ExternalAgent,
    known_agents,
    load_agents,
    meant_by,
)
from agiraph.settings.config import SandboxConfig
from agiraph.tools.approvals.policy import SPEND, ActingEntity, ApprovalPolicy, ApprovalRule
from agiraph.tools.approvals.policy_file import ApprovalPolicyFile
from agiraph.tools.sandbox.sandbox import Sandbox, find_sandbox
from agiraph.tools.table import tool_names

COUNTED_TOOLS = ("bash", "read_file", "write_file", "web_fetch", "web_search")
"""The Agiraph tools that an external agent's own tools are treated as."""

FILE_TOOLS = ("send_message", "ask_human", "checkpoint", "publish")
"""The Agiraph tools that an external agent uses through files, which need no permission."""
TRIAL_SECONDS = 10.0
SHOWN_CHARACTERS = 300
NOT_REASONS = ("WARNING:", "note:", "stack backtrace:")
USAGE_ERROR = 2


def check_agent(
    asked: AskedAgent, home: Path, config: SandboxConfig, environ: Mapping[str, str]
) -> list[str]:
    """Return the warnings about a requested external agent (`warnings_about`).

    Raises InvalidInput if it cannot work here, or if approval rules cannot be enforced for it and
    no person has exempted it.
    """
    agent = meant_by(asked.command, load_agents(home), environ, asked.author)
    agent.required()
    require_safe_name("model", split_model(asked.model or "")[1])
    sandbox = find_sandbox(config)
    policy = ApprovalPolicyFile(home, tool_names()).current()
    who = ActingEntity(asked.name, asked.role, is_sandboxed=sandbox.is_up)
    require_rules(agent, policy, who)
    if agent.preset.trial:
        require_sandbox(agent, sandbox, environ)
    return warnings_about(agent, policy, who)


def permitted_agents(
    home: Path, config: SandboxConfig, environ: Mapping[str, str]
) -> list[ExternalAgent]:
    """Return the installed external agents that no rule about all workers excludes.

    Raises InvalidInput like `load_agents`.
    """
    policy = ApprovalPolicyFile(home, tool_names()).current()
    worker = ActingEntity("worker", "worker", is_sandboxed=find_sandbox(config).is_up)
    return [
        agent
        for agent in known_agents(home, environ)
        if agent.program and (agent.preset.rule_exempt or not unenforced(agent, policy, worker))
    ]


def agent_row(agent: ExternalAgent, sandbox: Sandbox, environ: Mapping[str, str]) -> JsonObject:
    """Return the facts about an external agent that a list for people shows."""
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
    """Return the warnings about this agent for the author of the rules; usually none.

    `who` is the worker that the agent works for.
    """
    warnings = unenforced(agent, policy, who)
    if agent.preset.account == "own":
        warnings.append(
            f"{agent.name} works with your own login and HOME: it can read your keys and settings "
            "there, and what it spends is not counted here"
        )
    return warnings


def require_rules(agent: ExternalAgent, policy: ApprovalPolicy, who: ActingEntity) -> None:
    """Raise InvalidInput if an approval rule about `who` cannot be enforced for its external agent.

    `who` is the worker. An agent that a person has exempted (`rule_exempt`) is accepted.
    """
    if agent.preset.rule_exempt or not (reasons := unenforced(agent, policy, who)):
        return
    how = (
        "make it a preset with `rule_exempt: true` in agents.yaml"
        if agent.name == COMMAND
        else f"set `rule_exempt: true` for {agent.name} in agents.yaml"
    )
    raise InvalidInput(
        f"the external agent '{agent.name}' is refused, because rules cannot be enforced for it: "
        f"{'; '.join(reasons)}. Use an agent that asks before it acts, or have a person {how}"
    )


def unenforced(
    agent: ExternalAgent, policy: ApprovalPolicy, who: ActingEntity | None = None
) -> list[str]:
    """Return which approval rules about `who` cannot be enforced for its external agent, and why.

    `who` is the worker; None: the rules about any worker. [] if all are enforced.
    """
    reasons: list[str] = []
    if agent.preset.rules != "asked" and (rules := policy.strict(COUNTED_TOOLS, who)):
        reasons.append(
            _not_enforced(agent, rules, is_sandboxed=who is not None and who.is_sandboxed)
        )
    by_files = [rule for rule in policy.strict(FILE_TOOLS, who) if "*" not in rule.tool]
    if by_files:
        reasons.append(
            f"{_named(by_files)} of approvals.yaml cannot be asked about the files by which "
            f"{agent.name} sends messages and results"
        )
    if spending := policy.strict((SPEND,), who):
        limit = "a budget stops it" if agent.preset.account == "door" else "nothing stops it"
        reasons.append(
            f"{_named(spending)} of approvals.yaml cannot ask before {agent.name} calls a model "
            f"({limit}: `agiraph budget`)"
        )
    return reasons


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
    """Return why this agent cannot work here, with advice, '' if it can.

    Inside a sandbox of Agiraph it needs none of its own. The first call in a process blocks for
    some tenths of a second.
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
        f"{sandbox.why_missing}{advice}. To let it run in none, see docs/external-agents.md"
    )


@lru_cache(maxsize=16)
def _try(command: tuple[str, ...], path: str) -> str:
    """Return why a trial of a sandbox failed, '' if it succeeded or the program has no trial."""
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

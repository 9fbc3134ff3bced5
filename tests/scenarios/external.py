"""Coordinators of scenarios that have an external agent do a node; programs that play one."""

import re
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.fakes.model_server import Brain, Reply, SeenRequest, call

Reaction = Callable[[SeenRequest], Reply | None]
FOLDER = re.compile(r"working directory: (.*)|\*\*Workspace Directories:\*\*\s*- (.*)")


def program(folder: Path, text: str, name: str = "agent") -> str:
    """Put a program into a folder and return its path."""
    path = folder / name
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def working_folder(seen: SeenRequest) -> str:
    """Return the folder in which Claude Code or Gemini CLI says that it works."""
    found = FOLDER.search(f"{seen.system}\n{seen.said}")
    return (found[1] or found[2]).strip() if found else ""


def led(name: str, command: str, *between: Reaction, checks: Sequence[str] = ()) -> Brain:
    """Return a coordinator that has an external agent do one node, with these checks.

    `between` are asked in order before it waits on; each returns None once it has reacted, or if
    there is nothing to react to.
    """

    def brain(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return call("spawn_worker", name=name, type="autonomous", agent_command=command)
        if seen.step == 1:
            node = {"name": f"{name}-tool", "task": "Write tool.py", "worker": name}
            return call("create_work_node", **node, **({"checks": [*checks]} if checks else {}))
        for one in between:
            if (reply := one(seen)) is not None:
                return reply
        ended = seen.results("wait")[-1:]
        if ended and any(f'"status": "{how}"' in ended[0] for how in ("completed", "failed")):
            return call("finish", summary=f"Done: {ended[0]}")
        return call("wait")

    return brain


def once_told(words: str, reply: Reply) -> Reaction:
    """Return what reacts to these words of a message, once."""

    def react(seen: SeenRequest) -> Reply | None:
        tool = reply.calls[0].name
        return reply if words in seen.said and not seen.results(tool) else None

    return react

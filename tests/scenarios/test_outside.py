"""Outside agents as workers: their files, their messages, their end, and what is left of them."""

import stat
from collections.abc import Callable
from pathlib import Path

from tests.fakes.model_server import Brain, Reply, SeenRequest, call
from tests.scenarios.place import Place

Look = Callable[[SeenRequest], Reply | None]

AGENT = """\
#!/usr/bin/env python3
import json, os, sys, time
task = sys.stdin.read()
assert task == open("_task.md").read(), "the task is told twice alike"
about = json.load(open("_context.json"))
print("I begin", about["node"]["name"], flush=True)
open("tool.py", "w").write("print(6 * 7)\\n")
with open("_outbox.md", "a") as outbox:
    outbox.write("@coordinator: half of it is done\\n\\n")
open("_checkpoint.md", "w").write("tool.py is written\\n")
while "go on" not in open("_inbox.md").read():
    time.sleep(0.02)
open("_result.md", "w").write("Wrote tool.py, which prints 42.\\n")
"""


def program(folder: Path, text: str, name: str = "agent") -> str:
    """Put a program into a folder and return its path."""
    path = folder / name
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def led(name: str, command: str, *between: Look) -> Brain:
    """Return a coordinator that has an outside agent do one node.

    `between` are asked, once each and in order, before it waits on: those that look for something
    that has not been said yet return None.
    """

    def brain(seen: SeenRequest) -> Reply:
        if seen.step == 0:
            return call("spawn_worker", name=name, type="autonomous", agent_command=command)
        if seen.step == 1:
            return call("create_work_node", name=f"{name}-tool", task="Write tool.py", worker=name)
        for one in between:
            if (reply := one(seen)) is not None:
                return reply
        ended = seen.results("wait")[-1:]
        if ended and any(f'"status": "{how}"' in ended[0] for how in ("completed", "failed")):
            return call("finish", summary=f"Done: {ended[0]}")
        return call("wait")

    return brain


def once_told(words: str, reply: Reply) -> Look:
    """Return what answers those words of a message, once."""

    def look(seen: SeenRequest) -> Reply | None:
        tool = reply.calls[0].name
        return reply if words in seen.said and not seen.results(tool) else None

    return look


def test_a_command_does_a_node_and_speaks_with_its_team(place: Place, tmp_path: Path) -> None:
    command = program(tmp_path, AGENT)
    go_on = call("send_message", to="ann", content="go on")
    place.plays(coordinator=led("ann", command, once_told("half of it is done", go_on)))
    outcome = place.lead("Have a tool written")
    assert (outcome.code, outcome.result["status"]) == (0, "completed"), outcome.progress
    published = outcome.published("ann-tool")
    assert published["tool.py"] == "print(6 * 7)\n"
    assert published["_result.md"] == "Wrote tool.py, which prints 42.\n"
    assert not {"_task.md", "_inbox.md", "_outbox.md", "_context.json"} & set(published)
    texts = [(outcome.run / "_messages" / name).read_text() for name in outcome.messages()]
    assert sum("half of it is done" in text for text in texts) == 1
    assert [e["data"]["summary"] for e in outcome.events("node.checkpoint")] == [
        "tool.py is written"
    ]
    assert len(outcome.events("outside.started")) == 1
    [ended] = outcome.events("outside.ended")
    assert ended["data"]["problem"] == ""
    [done] = outcome.events("node.completed")
    assert done["data"]["summary"] == "Wrote tool.py, which prints 42."

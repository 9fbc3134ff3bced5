"""Poison: a message that repeatedly crashes its receiver is quarantined; the receiver continues."""

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.integration.probe import DEAD, HEARD
from tests.integration.probed_supervisor import ProbedSupervisor, running
from tests.integration.waiting import until


def say(supervisor: ProbedSupervisor, to: str, content: str) -> None:
    supervisor.ask(to, "text", content=content, from_name="human")


def told(supervisor: ProbedSupervisor, name: str, about: str) -> list[str]:
    """Return the lines of a file of the home that mention an entity."""
    file = supervisor.home / name
    text = file.read_text() if file.exists() else ""
    return [line for line in text.splitlines() if about in line]


def test_message_that_kills_three_times_is_quarantined_and_can_be_resent(
    supervisor: ProbedSupervisor,
) -> None:
    supervisor.start("poison/ada")
    supervisor.await_row("poison/ada", state="ready")
    say(supervisor, "poison/ada", "die")
    say(supervisor, "poison/ada", "hello")
    until(lambda: told(supervisor, DEAD, "poison/ada"), "the message is a dead letter")
    until(
        lambda: told(supervisor, HEARD, "poison/ada") == ["poison/ada: hello"],
        "the delivery of later messages",
    )
    assert supervisor.row("poison/ada")["incarnation"] == 4
    assert (
        "this text has ended poison/ada 3 times: killed by SIGSEGV"
        in told(supervisor, DEAD, "poison/ada")[0]
    )
    supervisor.ask("poison/ada", "control.retry")
    until(lambda: len(told(supervisor, DEAD, "poison/ada")) == 2, "it is as bad as before")
    say(supervisor, "poison/ada", "still here")
    until(lambda: told(supervisor, HEARD, "poison/ada: still here"), "the receiver lives on")


def test_kills_from_outside_blame_no_message(supervisor: ProbedSupervisor) -> None:
    supervisor.start("poison/bob")
    for incarnation in range(1, 5):
        row = supervisor.await_row("poison/bob", state="ready", incarnation=incarnation)
        say(supervisor, "poison/bob", f"message {incarnation}")
        os.kill(row["pid"], signal.SIGKILL)
    supervisor.await_row("poison/bob", state="ready", incarnation=5)
    said = {f"poison/bob: message {number}" for number in range(1, 5)}
    until(lambda: set(told(supervisor, HEARD, "poison/bob")) == said, "every message is heard")
    assert told(supervisor, DEAD, "poison/bob") == []


def frozen(supervisor: ProbedSupervisor, address: str) -> int:
    """Stop the process of an address, so that its messages wait; return its pid."""
    pid: int = supervisor.await_row(address, state="ready")["pid"]
    os.kill(pid, signal.SIGSTOP)
    return pid


@pytest.mark.parametrize("kind", ["inbox", "in order"])
def test_poison_is_identified_among_prefetched_messages(
    supervisor: ProbedSupervisor, kind: str
) -> None:
    to = f"poison/{kind.replace(' ', '-')}"
    supervisor.start(to, args={"inbox": kind == "inbox"})
    pid = frozen(supervisor, to)
    contents = ["one", "two", "die", "three", "four"]
    for content in contents:
        say(supervisor, to, content)
    os.kill(pid, signal.SIGCONT)
    until(lambda: told(supervisor, DEAD, to), "the message is a dead letter")
    until(lambda: told(supervisor, HEARD, f"{to}: four"), "the delivery of later messages")
    assert len(told(supervisor, DEAD, to)) == 1
    assert "SIGSEGV" in told(supervisor, DEAD, to)[0]
    heard = {line.partition(": ")[2] for line in told(supervisor, HEARD, to)}
    assert heard == {"one", "two", "three", "four"}
    assert supervisor.row(to)["incarnation"] == 4


def test_poison_that_wakes_a_parked_process_is_quarantined_before_it_is_given_up(
    supervisor: ProbedSupervisor,
) -> None:
    """The crashes precede the message that the process is ready."""
    supervisor.start("poison/early")
    pid = frozen(supervisor, "poison/early")
    say(supervisor, "poison/early", "die")
    os.kill(pid, signal.SIGKILL)
    until(lambda: told(supervisor, DEAD, "poison/early"), "the message is a dead letter")
    supervisor.await_row("poison/early", state="ready")


def test_many_poison_messages_are_quarantined_before_their_receiver_is_given_up(
    supervisor: ProbedSupervisor,
) -> None:
    supervisor.start("poison/many", args={"inbox": True}, intensity=3)
    pid = frozen(supervisor, "poison/many")
    for content in ("die", "one", "die", "two", "die", "three"):
        say(supervisor, "poison/many", content)
    os.kill(pid, signal.SIGCONT)
    until(lambda: len(told(supervisor, DEAD, "poison/many")) == 3, "all three are dead letters")
    until(lambda: len(told(supervisor, HEARD, "poison/many")) == 3, "all others are heard")
    assert supervisor.await_row("poison/many", state="ready")["restarts"] <= 9


def too_deep() -> dict[str, Any]:
    """Return values that the bus carries and no log can store."""
    nested: dict[str, Any] = {}
    for _ in range(300):
        nested = {"in": nested}
    return nested


def test_report_that_kills_the_recorder_is_quarantined_and_others_are_written(
    tmp_path: Path,
) -> None:
    with running(tmp_path, PROBE_REAL="recorder") as supervisor:
        pid = frozen(supervisor, "recorder")
        for agent in ("a", "b", "poison", "c", "d"):
            event: dict[str, Any] = {"type": "agent.created", "agent_id": agent, "ts": 1.0}
            event["entity"] = "coordinator"
            event["data"] = too_deep() if agent == "poison" else {}
            supervisor.ask("recorder", "event.report", events=[event])
        os.kill(pid, signal.SIGCONT)
        until(lambda: told(supervisor, DEAD, "recorder"), "the report is a dead letter")
        for agent in ("a", "b", "c", "d"):
            log = f"agents/{agent}/events.jsonl"
            assert len(until(partial(told, supervisor, log, "agent.created"), "it is written")) == 1
        assert (
            "this event.report has ended recorder 3 times" in told(supervisor, DEAD, "recorder")[0]
        )
        assert len(told(supervisor, DEAD, "recorder")) == 1
        assert supervisor.row("recorder")["incarnation"] == 4

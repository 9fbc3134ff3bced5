"""Actions of a person on nodes: `retry`, `assign`, `cancel`."""

import threading

from agiraph.http.client import Client
from tests.fakes.model_server import Reply, SeenRequest, say
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import DONE, FACT, WAIT, bash, finish, held, node, place_of, spawn, write
from tests.scenarios.test_steering import runs

SILENT = [say("I cannot."), say("I still cannot.")]


def fails_then_works(seen: SeenRequest) -> Reply:
    """Fail the node without an answer at its first attempt, and publish at the second."""
    _, step = place_of(seen)
    is_second = "This is attempt 2" in seen.said
    return [FACT, DONE][min(step, 1)] if is_second else SILENT[min(step, 1)]


def test_node_of_a_failed_run_is_retried_and_the_run_continues(live_home: LiveHome) -> None:
    gives_up = [spawn("ada"), node("facts"), WAIT, *SILENT]
    live_home.plays(
        coordinator=[*gives_up, WAIT, finish("There is a fact.")], **{"*": fails_then_works}
    )
    agent = live_home.begin("tries")
    live_home.await_end(agent, "failed")
    [failed] = live_home.json("board", "tries")
    assert (failed["status"], failed["attempt"]) == ("failed", 1)
    again = live_home.command("retry", "tries", "facts", "--because", "The network is back")
    assert again.returncode == 0, again.stderr
    assert again.stdout.startswith("facts is tried again; it had failed: the model answered")
    ended = live_home.command("wait", "tries")
    assert ended.returncode == 0, ended.stderr
    assert live_home.command("result", "tries").stdout == "There is a fact.\n"
    detail = live_home.json("board", "tries", "facts")
    assert (detail["status"], detail["attempt"]) == ("completed", 2)
    told = live_home.await_step("coordinator", 5).said
    assert "I have node 'facts' tried again" in told
    assert "What is different now: The network is back" in told
    types = [event["type"] for event in live_home.json("events", "tries")]
    assert types.count("agent.reopened") == types.count("node.retried") == 1
    done = live_home.command("retry", "tries", "facts")
    assert (done.returncode, "its result stands" in done.stderr) == (1, True)


def test_run_stopped_before_a_retry_continues(live_home: LiveHome) -> None:
    steps = [spawn("ada"), node("facts"), WAIT, *SILENT, WAIT, finish("There is a fact.")]
    live_home.plays(coordinator=steps, **{"*": fails_then_works})
    agent = live_home.begin("stopped-between")
    live_home.await_end(agent, "failed")
    live_home.command("stop", agent.name)
    assert live_home.command("retry", agent.name, "facts").returncode == 0
    attached = live_home.command("attach", agent.name)
    assert (attached.returncode, attached.stdout) == (0, "There is a fact.\n"), attached.stderr
    assert "facts is tried again" in attached.stderr


def test_unknown_node_or_agent_is_refused(live_home: LiveHome) -> None:
    live_home.plays(coordinator=[finish()])
    agent = live_home.begin("no-nodes")
    live_home.await_end(agent)
    unknown = live_home.command("retry", "no-nodes", "x")
    assert (unknown.returncode, "unknown node 'x'" in unknown.stderr) == (2, True)
    nobody = live_home.command("retry", "nobody", "x")
    assert (nobody.returncode, "unknown agent 'nobody'" in nobody.stderr) == (2, True)


def test_node_moves_to_another_worker_after_its_own_released_it(live_home: LiveHome) -> None:
    leads = [spawn("ada"), spawn("ben"), node("facts", "ada"), WAIT, WAIT, finish("There it is.")]
    slow = bash("echo from ada > begun.md; sleep 300.067")
    live_home.plays(coordinator=leads, ada=[slow], ben=[FACT, DONE])
    agent = live_home.begin("moves")
    until(lambda: [*agent.glob("runs/*/nodes/*/scratch/begun.md")], "the command runs")
    moved = live_home.command("assign", "moves", "facts", "--to", "ben", "--because", "too slow")
    live_home.kill(f"worker {live_home.worker(agent, 'ada').name}")
    live_home.kill("coordinator moves")
    assert moved.returncode == 0, moved.stderr
    assert moved.stdout.startswith("facts goes to ben")
    live_home.await_end(agent)
    assert not runs("300.067")
    detail = live_home.json("board", "moves", "facts")
    assert (detail["status"], detail["attempt"], detail["assigned_worker"]) == (
        "completed",
        2,
        "ben",
    )
    assert sorted(detail["published"]) == ["begun.md", "facts.md"]
    said = live_home.await_step("ben", 0).said
    assert "This is attempt 2. The last attempt ended (it was taken from ada: too slow)" in said
    assert (
        "I have given node 'facts' to ben, because: too slow"
        in live_home.await_step("coordinator", 5).said
    )
    types = [event["type"] for event in live_home.json("events", "moves")]
    assert types.count("node.moved") == types.count("node.released") == 1
    over = live_home.command("assign", "moves", "facts", "--to", "ada")
    assert (over.returncode, "is completed and cannot be moved" in over.stderr) == (1, True)
    nobody = live_home.command("assign", "moves", "facts", "--to", "eve")
    assert (nobody.returncode, "unknown worker 'eve'" in nobody.stderr) == (2, True)


def test_node_is_cancelled_with_its_running_command(live_home: LiveHome) -> None:
    slow = bash("echo x > begun.md; sleep 300.071")
    leads = [spawn("cyd"), node("facts", "cyd"), WAIT, finish("It was not needed.")]
    live_home.plays(coordinator=leads, cyd=[slow])
    agent = live_home.begin("calls-off")
    until(lambda: [*agent.glob("runs/*/nodes/*/scratch/begun.md")], "the command runs")
    cancelled = live_home.json("cancel", "calls-off", "facts", "--because", "not needed")
    assert cancelled["status"] == "cancelled"
    assert cancelled["reason"] == "cancelled by the human: not needed"
    live_home.await_end(agent)
    until(lambda: not runs("300.071"), "the command is ended")
    assert (
        "I have cancelled node 'facts', because: not needed"
        in live_home.await_step("coordinator", 3).said
    )
    again = live_home.command("cancel", "calls-off", "facts")
    assert again.returncode == 0, "it is cancelled, as was asked"


def test_completed_node_is_repeated_and_its_earlier_files_are_kept(
    live_home: LiveHome,
) -> None:
    gate = threading.Event()
    leads = [spawn("dan"), node("facts", "dan"), WAIT, held(WAIT, gate), WAIT, finish("Two.")]

    def writes(seen: SeenRequest) -> Reply:
        step, is_second = place_of(seen)[1], "This is attempt 2" in seen.said
        return [write("facts.md", "two" if is_second else "one"), DONE][min(step, 1)]

    live_home.plays(coordinator=leads, dan=[writes] * 4)
    agent = live_home.begin("once-more")
    live_home.await_step("coordinator", 3)
    again = live_home.command("retry", "once-more", "facts", "--because", "with sources")
    assert (again.returncode, again.stdout) == (0, "facts is tried again\n"), again.stderr
    worker = live_home.worker(agent, "dan")
    until(lambda: [*agent.glob("runs/*/nodes/*/attempts/1/facts.md")], "attempt 1 is put aside")
    live_home.kill(f"worker {worker.name}")
    gate.set()
    live_home.await_end(agent)
    detail = live_home.json("board", "once-more", "facts")
    assert (detail["status"], detail["attempt"], detail["earlier_attempts"]) == (
        "completed",
        2,
        [1],
    )
    with Client.for_home(live_home.home) as client:
        for attempt, text in ((1, "one"), (2, "two"), (None, "two")):
            found = client.node_files(
                "once-more", "facts", "published", "facts.md", attempt=attempt
            )
            assert getattr(found, "content", "") == text
    told = live_home.await_step("coordinator", 5).said
    assert "I have node 'facts' done again, which was completed." in told

"""`retry`: a failed node is tried again, in a run that goes on and in one that had failed."""

from tests.fakes.model_server import Reply, SeenRequest, say
from tests.scenarios.place import Place
from tests.scenarios.steps import DONE, FACT, WAIT, finish, node, place_of, spawn

SILENT = [say("I cannot."), say("I still cannot.")]


def works_later(seen: SeenRequest) -> Reply:
    """Give the node up in silence at its first attempt, and publish at the second."""
    _, step = place_of(seen)
    is_second = "This is attempt 2" in seen.said
    return [FACT, DONE][min(step, 1)] if is_second else SILENT[min(step, 1)]


def test_a_node_of_a_failed_run_is_tried_again_and_the_run_goes_on(place: Place) -> None:
    gives_up = [spawn("ada"), node("facts"), WAIT, *SILENT]
    place.plays(coordinator=[*gives_up, WAIT, finish("There is a fact.")], **{"*": works_later})
    agent = place.begin("tries")
    place.await_end(agent, "failed")
    [failed] = place.json("board", "tries")
    assert (failed["status"], failed["attempt"]) == ("failed", 1)
    again = place.command("retry", "tries", "facts", "--because", "The network is back")
    assert again.returncode == 0, again.stderr
    assert again.stdout.startswith("facts is tried again; it had failed: the model answered")
    ended = place.command("wait", "tries")
    assert ended.returncode == 0, ended.stderr
    assert place.command("result", "tries").stdout == "There is a fact.\n"
    detail = place.json("board", "tries", "facts")
    assert (detail["status"], detail["attempt"]) == ("completed", 2)
    told = place.await_step("coordinator", 5).said
    assert "I have node 'facts' tried again" in told
    assert "What is different now: The network is back" in told
    types = [event["type"] for event in place.json("events", "tries")]
    assert types.count("agent.reopened") == types.count("node.retried") == 1
    done = place.command("retry", "tries", "facts")
    assert (done.returncode, "'facts' is completed" in done.stderr) == (1, True)


def test_a_run_that_was_stopped_in_between_goes_on(place: Place) -> None:
    steps = [spawn("ada"), node("facts"), WAIT, *SILENT, WAIT, finish("There is a fact.")]
    place.plays(coordinator=steps, **{"*": works_later})
    agent = place.begin("stopped-between")
    place.await_end(agent, "failed")
    place.command("stop", agent.name)
    assert place.command("retry", agent.name, "facts").returncode == 0
    attached = place.command("attach", agent.name)
    assert (attached.returncode, attached.stdout) == (0, "There is a fact.\n"), attached.stderr
    assert "facts is tried again" in attached.stderr


def test_what_is_not_known_is_named(place: Place) -> None:
    place.plays(coordinator=[finish()])
    agent = place.begin("no-nodes")
    place.await_end(agent)
    unknown = place.command("retry", "no-nodes", "x")
    assert (unknown.returncode, "unknown node 'x'" in unknown.stderr) == (2, True)
    nobody = place.command("retry", "nobody", "x")
    assert (nobody.returncode, "unknown agent 'nobody'" in nobody.stderr) == (2, True)

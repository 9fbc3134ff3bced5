"""The status of an agent and its entities: every command shows the same, despite restarts."""

import threading

from tests.fakes.model_server import Reply, call
from tests.integration.house import until
from tests.scenarios.house import JsonObject, processes_of
from tests.scenarios.place import Place
from tests.scenarios.steps import DONE, FACT, ask, finish, held, one_worker

ENDS_CYCLE: Reply = call("end_cycle", notes="nothing new")


def shown(place: Place, name: str) -> JsonObject:
    """Return the status of an agent (by its id) and of each entity, as each command shows it."""
    [agent] = [row for row in place.json("agents") if row["id"] == name]
    record = place.json("show", name)["status"]
    workers = {f"worker {row['name']}": row["status"] for row in place.json("workers", name)}
    return {
        "agent": agent["status"],
        "record": record,
        "entities": place.states(name),
        **workers,
    }


def team(status: str, entities: dict[str, str]) -> JsonObject:
    """Return the shown rows of an agent in this status, with these states of its entities."""
    return {"agent": status, "record": status, "entities": entities}


def kill_everything(place: Place) -> None:
    """Kill every process of the home, and start the supervisor again."""
    for process in processes_of(place.home):
        process.kill()
    place.restart_supervisor()


def test_a_pause_is_shown_though_the_gateway_was_restarted(place: Place) -> None:
    gate = threading.Event()
    place.plays(coordinator=one_worker("ada"), ada=[held(FACT, gate), DONE])
    agent = place.begin("held-up")
    place.await_step("ada", 0)
    ada = f"{agent.name}/{place.worker(agent, 'ada').name}"
    both = dict.fromkeys((f"{agent.name}/coordinator", ada), "paused")
    paused = team("paused", both) | {"worker ada": "paused"}
    place.json("pause", agent.name)
    until(lambda: shown(place, agent.name) == paused, "all are paused")
    place.command("restart", "human")
    until(lambda: place.command("ps").returncode == 0, "the gateway is back")
    assert shown(place, agent.name) == paused
    kill_everything(place)
    until(lambda: shown(place, agent.name) == paused, "they are paused in their next lives")
    gate.set()
    place.json("resume", agent.name)
    place.await_end(agent)


def test_a_paused_agent_between_two_cycles_is_paused(drowsy_place: Place) -> None:
    place = drowsy_place
    place.plays(coordinator=[ENDS_CYCLE, finish()])
    agent = place.begin("dozer", "--mode", "infinite", "--cycle", "10m")
    coordinator = f"{agent.name}/coordinator"
    until(lambda: place.has_parked(agent.name), "the coordinator sleeps")
    assert shown(place, agent.name) == team("idle", {coordinator: "parked"})
    paused = team("paused", {coordinator: "paused"})
    place.json("pause", agent.name)
    until(lambda: shown(place, agent.name) == paused, "it is paused")
    kill_everything(place)
    until(lambda: shown(place, agent.name) == paused, "it is paused in its next life")
    place.json("resume", agent.name)
    until(lambda: shown(place, agent.name)["agent"] == "idle", "it sleeps on")
    place.stop(agent.name)


def test_who_was_paused_over_a_question_still_asks_once_resumed(drowsy_place: Place) -> None:
    place = drowsy_place
    place.plays(coordinator=[ask("Which year?"), finish()])
    agent = place.begin("undecided")
    question = place.await_question(agent.name)
    coordinator = f"{agent.name}/coordinator"
    asks = team("waiting_for_human", {coordinator: "waiting_for_human"})
    until(lambda: place.has_parked(agent.name), "it is parked")
    assert shown(place, agent.name) == asks
    place.json("pause", agent.name)
    until(lambda: shown(place, agent.name)["agent"] == "paused", "it is paused")
    place.json("resume", agent.name)
    until(lambda: shown(place, agent.name) == asks, "it asks again")
    place.json("respond", str(question["id"]), "2026")
    place.await_end(agent)


def test_what_a_run_has_spent_is_the_same_everywhere_when_its_workers_are_gone(
    place: Place,
) -> None:
    place.plays(coordinator=one_worker("ada"), ada=[FACT, DONE])
    agent = place.begin("spender", "--model", "openai/dear")
    place.await_end(agent)
    until(lambda: len(place.states(agent.name)) == 1, "the worker's process is gone")
    total = place.json("usage", agent.name, "--budgets")["total"]
    record, [left] = place.json("show", agent.name), place.json("ps", agent.name)
    assert record["tokens"] == total["input_tokens"] + total["output_tokens"]
    assert record["cost_usd"] == total["cost_usd"]
    assert 0 < left["tokens"] < record["tokens"]
    assert 0 < left["cost_usd"] < record["cost_usd"]

"""The status of an agent and its entities: every command shows the same, despite restarts."""

import threading

from tests.fakes.model_server import Reply, call
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.scenario_home import JsonObject, processes_of
from tests.scenarios.steps import DONE, FACT, ask, finish, held, one_worker

ENDS_CYCLE: Reply = call("end_cycle", notes="nothing new")


def shown(live_home: LiveHome, name: str) -> JsonObject:
    """Return the status of an agent (by its id) and of each entity, as each command shows it."""
    [agent] = [row for row in live_home.json("agents") if row["id"] == name]
    record = live_home.json("show", name)["status"]
    workers = {f"worker {row['name']}": row["status"] for row in live_home.json("workers", name)}
    return {
        "agent": agent["status"],
        "record": record,
        "entities": live_home.states(name),
        **workers,
    }


def team(status: str, entities: dict[str, str]) -> JsonObject:
    """Return the shown rows of an agent in this status, with these states of its entities."""
    return {"agent": status, "record": status, "entities": entities}


def kill_everything(live_home: LiveHome) -> None:
    """Kill every process of the home, and start the supervisor again."""
    for process in processes_of(live_home.home):
        process.kill()
    live_home.restart_supervisor()


def test_pause_is_shown_after_a_gateway_restart(live_home: LiveHome) -> None:
    gate = threading.Event()
    live_home.plays(coordinator=one_worker("ada"), ada=[held(FACT, gate), DONE])
    agent = live_home.begin("held-up")
    live_home.await_step("ada", 0)
    ada = f"{agent.name}/{live_home.worker(agent, 'ada').name}"
    both = dict.fromkeys((f"{agent.name}/coordinator", ada), "paused")
    paused = team("paused", both) | {"worker ada": "paused"}
    live_home.json("pause", agent.name)
    until(lambda: shown(live_home, agent.name) == paused, "all are paused")
    live_home.command("restart", "human")
    until(lambda: live_home.command("ps").returncode == 0, "the gateway is back")
    assert shown(live_home, agent.name) == paused
    kill_everything(live_home)
    until(lambda: shown(live_home, agent.name) == paused, "they are paused in their next lives")
    gate.set()
    live_home.json("resume", agent.name)
    live_home.await_end(agent)


def test_a_paused_agent_between_two_cycles_is_paused(parking_home: LiveHome) -> None:
    live_home = parking_home
    live_home.plays(coordinator=[ENDS_CYCLE, finish()])
    agent = live_home.begin("dozer", "--mode", "infinite", "--cycle", "10m")
    coordinator = f"{agent.name}/coordinator"
    until(lambda: live_home.has_parked(agent.name), "the coordinator sleeps")
    assert shown(live_home, agent.name) == team("idle", {coordinator: "parked"})
    paused = team("paused", {coordinator: "paused"})
    live_home.json("pause", agent.name)
    until(lambda: shown(live_home, agent.name) == paused, "it is paused")
    kill_everything(live_home)
    until(lambda: shown(live_home, agent.name) == paused, "it is paused in its next incarnation")
    live_home.json("resume", agent.name)
    until(lambda: shown(live_home, agent.name)["agent"] == "idle", "it stays parked")
    live_home.stop(agent.name)


def test_entity_paused_with_an_open_question_still_asks_once_resumed(
    parking_home: LiveHome,
) -> None:
    live_home = parking_home
    live_home.plays(coordinator=[ask("Which year?"), finish()])
    agent = live_home.begin("undecided")
    question = live_home.await_question(agent.name)
    coordinator = f"{agent.name}/coordinator"
    asks = team("waiting_for_human", {coordinator: "waiting_for_human"})
    until(lambda: live_home.has_parked(agent.name), "it is parked")
    assert shown(live_home, agent.name) == asks
    live_home.json("pause", agent.name)
    until(lambda: shown(live_home, agent.name)["agent"] == "paused", "it is paused")
    live_home.json("resume", agent.name)
    until(lambda: shown(live_home, agent.name) == asks, "it asks again")
    live_home.json("respond", str(question["id"]), "2026")
    live_home.await_end(agent)


def test_spending_of_a_run_is_the_same_in_every_view_after_its_workers_ended(
    live_home: LiveHome,
) -> None:
    live_home.plays(coordinator=one_worker("ada"), ada=[FACT, DONE])
    agent = live_home.begin("spender", "--model", "openai/dear")
    live_home.await_end(agent)
    until(lambda: len(live_home.states(agent.name)) == 1, "the worker's process is gone")
    total = live_home.json("usage", agent.name, "--budgets")["total"]
    record, [left] = live_home.json("show", agent.name), live_home.json("ps", agent.name)
    assert record["tokens"] == total["input_tokens"] + total["output_tokens"]
    assert record["cost_usd"] == total["cost_usd"]
    assert 0 < left["tokens"] < record["tokens"]
    assert 0 < left["cost_usd"] < record["cost_usd"]

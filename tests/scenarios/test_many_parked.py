"""Many idle agents: none has a process, each wakes when it receives a message."""

from concurrent.futures import ThreadPoolExecutor

from agiraph.http.api import CreateAgentRequest
from agiraph.http.client import Client
from tests.fakes.model_server import Reply, SeenRequest, say
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome, whole_lines
from tests.scenarios.steps import finish

AGENTS = 8
AT_ONCE = 4


def responder(seen: SeenRequest) -> Reply:
    """Play coordinators that are done at once."""
    return finish("Nothing to do.") if seen.step == 0 else say("Heard.")


def test_parked_agents_have_no_process_and_wake_for_a_message(
    parking_home: LiveHome,
) -> None:
    live_home = parking_home
    live_home.plays(responder)
    request = CreateAgentRequest(goal="Nothing", model="openai/fake")
    with Client.for_home(live_home.home) as client, ThreadPoolExecutor(AT_ONCE) as pool:
        agents = [*pool.map(lambda _: client.create_agent(request).id, range(AGENTS))]

        def all_parked() -> bool:
            states = {row.address: row.state for row in client.entities()}
            return all(states.get(f"{agent}/coordinator") == "parked" for agent in agents)

        until(all_parked, "every agent has parked")
        assert not [title for title in live_home.titles() if "coordinator" in title]
        [*pool.map(lambda agent: client.send(agent, f"Hello, {agent}"), agents)]
        until(
            lambda: all(answered(live_home, agent) for agent in agents), "every agent has answered"
        )
        until(all_parked, "every agent has parked again")
    assert not live_home.server.problems


def answered(live_home: LiveHome, agent: str) -> bool:
    """Whether an agent has heard its greeting, once, and answered it."""
    records = whole_lines(live_home.home / "agents" / agent / "conversation.jsonl")
    heard = [r for r in records if r["kind"] == "heard" and f"Hello, {agent}" in r["content"]]
    assert len(heard) <= 1
    return bool(heard) and records[-1]["kind"] == "said"

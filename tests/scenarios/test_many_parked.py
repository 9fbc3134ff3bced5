"""Many idle agents: none has a process, each wakes when it receives a message."""

from concurrent.futures import ThreadPoolExecutor

from agiraph.http.api import CreateAgentRequest
from agiraph.http.client import Client
from tests.fakes.model_server import Reply, SeenRequest, say
from tests.integration.house import until
from tests.scenarios.place import Place, whole_lines
from tests.scenarios.steps import finish

AGENTS = 8
AT_ONCE = 4


def brain(seen: SeenRequest) -> Reply:
    """Play coordinators that are done at once."""
    return finish("Nothing to do.") if seen.step == 0 else say("Heard.")


def test_parked_agents_have_no_process_and_each_wakes_when_it_is_written_to(
    drowsy_place: Place,
) -> None:
    place = drowsy_place
    place.plays(brain)
    request = CreateAgentRequest(goal="Nothing", model="openai/fake")
    with Client.for_home(place.home) as client, ThreadPoolExecutor(AT_ONCE) as pool:
        agents = [*pool.map(lambda _: client.create_agent(request).id, range(AGENTS))]

        def all_parked() -> bool:
            states = {row.address: row.state for row in client.entities()}
            return all(states.get(f"{agent}/coordinator") == "parked" for agent in agents)

        until(all_parked, "every agent has parked")
        assert not [title for title in place.titles() if "coordinator" in title]
        [*pool.map(lambda agent: client.send(agent, f"Hello, {agent}"), agents)]
        until(lambda: all(answered(place, agent) for agent in agents), "every agent has answered")
        until(all_parked, "every agent has parked again")
    assert not place.server.problems


def answered(place: Place, agent: str) -> bool:
    """Whether an agent has heard its greeting, once, and answered it."""
    records = whole_lines(place.home / "agents" / agent / "conversation.jsonl")
    heard = [r for r in records if r["kind"] == "heard" and f"Hello, {agent}" in r["content"]]
    assert len(heard) <= 1
    return bool(heard) and records[-1]["kind"] == "said"

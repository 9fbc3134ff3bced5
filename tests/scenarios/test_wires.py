"""The same work by every wire format, and by a team whose members each speak another one."""

import threading

import pytest

from tests.fakes.model_server import Brain, Call, Reply, SeenRequest, calls, cut, rate_limited
from tests.fakes.words import in_words
from tests.scenarios.place import Place
from tests.scenarios.steps import WAIT, bash, finish, node, one_worker, publish, spawn, write

# A model's name, the format that it is asked in, and what shows that its thoughts came back to it.
MODELS = {
    "anthropic/fake": ("anthropic", "'signature': 'sig'"),
    "openai/fake": ("openai", "'reasoning_content': 'Hm.'"),
    "openai-responses/fake": ("responses", "sealed:Hm."),
    "google/fake": ("google", "'thoughtSignature': 'c2ln'"),
    "text:openai/fake": ("openai", ""),
}


@pytest.fixture
def place(drowsy_place: Place) -> Place:
    """The place where who was refused waits only for a moment."""
    return drowsy_place


def troubled(brain: Brain) -> Brain:
    """Return a brain whose service is crowded, breaks off, and is well from the third call on."""
    troubles = iter([rate_limited(), rate_limited("0.01"), None])
    lock = threading.Lock()

    def answer(seen: SeenRequest) -> Reply:
        with lock:
            trouble = next(troubles, brain(seen))
        return cut(brain(seen), after_events=1) if trouble is None else trouble

    return answer


ADA: list[Reply | Brain] = [
    Reply(thinking="Hm.", calls=(Call("bash", {"command": "echo one fact > facts.md"}),)),
    Reply(text="And now", calls=(Call("bash", raw='{"command": "cat facts.md'),)),
    lambda seen: bash("cat facts.md"),
    lambda seen: publish(f"found: {seen.result('bash')}"),
]


def test_one_model_name_each(place: Place) -> None:
    for model, (api, proof) in MODELS.items():
        place.plays(coordinator=one_worker("ada"), ada=ADA)
        place.server.brain = troubled(in_words(place.server.brain))
        outcome = place.lead("Find a fact", "--name", f"by-{api}-{len(model)}", "--model", model)
        assert outcome.result["status"] == "completed", model
        assert "one fact" in outcome.result["result"], model
        assert outcome.published("ada-facts") == {"facts.md": "one fact\n"}, model
        assert {seen.api for seen in place.server.requests} == {api}, model
        retried = [event["kind"] for event in outcome.data("model.retry")]
        assert sorted(retried) == ["rate_limited", "rate_limited", "unreachable"], model
        last = place.server.seen_by("ada")[-1]
        assert proof in repr(last.body), model
        if model.startswith("text:"):
            assert "Nothing was run: the call could not be read" in last.said
            assert "has no end" in last.said


def test_a_team_in_which_each_speaks_another_format(place: Place) -> None:
    team = {
        "ada": "google/fake",
        "bob": "openai-responses/fake",
        "cleo": "text:openai/fake",
        "dan": "openai/fake",
    }
    spawned = [spawn(name, model=model) for name, model in team.items()]
    nodes = [node(f"{name}-part", task=f"Write {name}.md", worker=name) for name in team]
    place.plays(
        coordinator=[
            calls(*spawned),
            calls(*nodes),
            WAIT,
            lambda seen: finish(seen.result("wait")),
        ],
        **{name: [write(f"{name}.md", f"by {name}"), publish(f"{name} is done")] for name in team},
    )
    place.server.brain = in_words(place.server.brain)
    outcome = place.complete("Write four parts", "--name", "mixed", "--model", "anthropic/fake")
    for name in team:
        assert outcome.published(f"{name}-part") == {f"{name}.md": f"by {name}"}
        assert f"{name} is done" in outcome.result["result"]
    formats = {name: {seen.api for seen in place.server.seen_by(name)} for name in team}
    assert formats == {
        "ada": {"google"},
        "bob": {"responses"},
        "cleo": {"openai"},
        "dan": {"openai"},
    }
    assert {seen.api for seen in place.server.seen_by("coordinator")} == {"anthropic"}

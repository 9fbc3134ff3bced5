"""The homes of scenarios: a house for one test, or a place that many tests share."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.fakes.model_server import Brain
from tests.fakes.site import FakeSite
from tests.scenarios.house import SERVICES, House, JsonObject
from tests.scenarios.place import MakePlace, Place, placed

NO_NOTES: Final[JsonObject] = {"knowledge": {"prompt_tokens": 0}}
"""In places that earlier tests have used: no prompt contains the notes of their runs."""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Callable[[Brain], House]]:
    """Return a function that creates houses."""
    houses: list[House] = []

    def make(brain: Brain) -> House:
        houses.append(House(tmp_path, brain))
        return houses[-1]

    yield make
    for made in houses:
        made.close()


@pytest.fixture(scope="module")
def make_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakePlace]:
    """Return a function that creates places with their own settings, which last for the module."""
    with contextlib.ExitStack() as stack:

        def make(settings: JsonObject | None = None, **options: Any) -> Place:
            home = tmp_path_factory.mktemp("home")
            return stack.enter_context(placed(home, settings=settings, **options))

        yield make


@pytest.fixture(scope="module")
def site() -> Iterator[FakeSite]:
    """Return a web site on loopback."""
    made = FakeSite()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _stops_what_it_began() -> Iterator[None]:
    before = {id(place): len(place.begun) for place in Place.standing}
    yield
    for place in Place.standing:
        for agent in place.begun[before.get(id(place), 0) :]:
            place.stop(agent)


@pytest.fixture(scope="session")
def _common(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("common")
    (home / "prices.yaml").write_text("openai/dear: {input: 0, output: 100}\n")
    refused = "{api: openai, base_url_env: OPENAI_BASE_URL, key_env: REFUSED_API_KEY}"
    small = "{models: {small: {context: 26000}}}"
    tiny = "tiny: {context: 8192}, writer: {context: 8192, tool_mode: none}"
    openai = f"{{models: {{small: {{context: 26000}}, {tiny}}}}}"
    (home / "providers.yaml").write_text(
        f"refused: {refused}\nopenai: {openai}\nanthropic: {small}\n"
    )
    settings = {"run": {"park_after_seconds": 0}, **NO_NOTES}
    key = {"REFUSED_API_KEY": "sk-wrong-0123456789"}
    with placed(home, settings=settings, services=SERVICES, environ=key) as place:
        yield place


@pytest.fixture(scope="session")
def _drowsy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    settings = {
        "run": {"park_after_seconds": 0.2, "standstill_seconds": 0.5, "max_concurrent": 64},
        "models": {"fallbacks": {"weak/fake": ["openai/other"]}},
        "broker": {"first_delay_seconds": 0.02},
        "web": {"search": "tavily"},
        **NO_NOTES,
    }
    home = tmp_path_factory.mktemp("drowsy")
    # A service of its own: its failures count towards a circuit breaker that all its models share.
    service = "{api: anthropic, base_url_env: ANTHROPIC_BASE_URL, key_env: ANTHROPIC_API_KEY}"
    (home / "providers.yaml").write_text(f"weak: {service}\n")
    with placed(home, settings=settings, services=SERVICES) as place:
        yield place


@pytest.fixture(scope="session")
def _rough(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    settings = {
        "run": {"park_after_seconds": 0, "node_calls": 6},
        "supervisor": {"intensity": 100},
        "worktrees": {"workers": "all"},
        **NO_NOTES,
    }
    home = tmp_path_factory.mktemp("rough")
    with placed(home, settings=settings, services=SERVICES) as place:
        yield place


def _lent(place: Place) -> Iterator[Place]:
    """Yield a place to a module; stop the agents that are left at its end.

    A coordinator that still answers a message would ask the brain of the next module.
    """
    yield place
    for agent in {*place.begun, *place.working()}:
        place.stop(agent)
    assert "Traceback" not in place.traces()


@pytest.fixture(scope="module")
def place(_common: Place) -> Iterator[Place]:
    """Return a place whose entities never park, and which other test files have used.

    Give no two agents of this folder the same name. The models openai/small and anthropic/small
    have a context of 26,000 tokens, a token of openai/dear costs a hundredth of a cent, and no
    model of the service `refused` answers.
    """
    yield from _lent(_common)


@pytest.fixture(scope="module")
def drowsy_place(_drowsy: Place) -> Iterator[Place]:
    """Return a place like `place`, whose entities park as soon as they have nothing to do.

    The service `weak`, of Anthropic's format, has the fallback openai/other there. Big teams work
    there all at once, and a refused call waits only for a moment.
    """
    yield from _lent(_drowsy)


@pytest.fixture(scope="module")
def rough_place(_rough: Place) -> Iterator[Place]:
    """Return a place like `place`, whose services may be killed any number of times.

    Workers change a repository that is their input in worktrees; external agents may make six model
    calls a node.
    """
    yield from _lent(_rough)

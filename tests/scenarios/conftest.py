"""The homes of scenarios: a home for one test, or a running home that many tests share."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.fakes.model_server import Responder
from tests.fakes.site import FakeSite
from tests.scenarios.live_home import LiveHome, MakeLiveHome, running_home
from tests.scenarios.scenario_home import SERVICES, JsonObject, ScenarioHome

NO_NOTES: Final[JsonObject] = {"knowledge": {"prompt_tokens": 0}}
"""In homes that earlier tests have used: no prompt contains the notes of their runs."""


@pytest.fixture
def make_home(tmp_path: Path) -> Iterator[Callable[[Responder], ScenarioHome]]:
    """Return a function that creates scenario homes."""
    homes: list[ScenarioHome] = []

    def make(responder: Responder) -> ScenarioHome:
        homes.append(ScenarioHome(tmp_path, responder))
        return homes[-1]

    yield make
    for made in homes:
        made.close()


@pytest.fixture(scope="module")
def make_live_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeLiveHome]:
    """Return a function that creates running homes with their own settings, for one module."""
    with contextlib.ExitStack() as stack:

        def make(settings: JsonObject | None = None, **options: Any) -> LiveHome:
            home = tmp_path_factory.mktemp("home")
            return stack.enter_context(running_home(home, settings=settings, **options))

        yield make


@pytest.fixture(scope="module")
def site() -> Iterator[FakeSite]:
    """Return a web site on loopback."""
    made = FakeSite()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _stop_started_agents() -> Iterator[None]:
    before = {id(live_home): len(live_home.begun) for live_home in LiveHome.open_homes}
    yield
    for live_home in LiveHome.open_homes:
        for agent in live_home.begun[before.get(id(live_home), 0) :]:
            live_home.stop(agent)


@pytest.fixture(scope="session")
def _common(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveHome]:
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
    with running_home(home, settings=settings, services=SERVICES, environ=key) as live_home:
        yield live_home


@pytest.fixture(scope="session")
def _parking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveHome]:
    settings = {
        "run": {"park_after_seconds": 0.2, "standstill_seconds": 0.5, "max_concurrent": 64},
        "models": {"fallbacks": {"weak/fake": ["openai/other"]}},
        "broker": {"first_delay_seconds": 0.02},
        "web": {"search": "tavily"},
        **NO_NOTES,
    }
    home = tmp_path_factory.mktemp("parking")
    # A service of its own: its failures count towards a circuit breaker that all its models share.
    service = "{api: anthropic, base_url_env: ANTHROPIC_BASE_URL, key_env: ANTHROPIC_API_KEY}"
    (home / "providers.yaml").write_text(f"weak: {service}\n")
    with running_home(home, settings=settings, services=SERVICES) as live_home:
        yield live_home


@pytest.fixture(scope="session")
def _killable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveHome]:
    settings = {
        "run": {"park_after_seconds": 0, "node_calls": 6},
        "supervisor": {"intensity": 100},
        "worktrees": {"workers": "all"},
        **NO_NOTES,
    }
    home = tmp_path_factory.mktemp("killable")
    with running_home(home, settings=settings, services=SERVICES) as live_home:
        yield live_home


def _module_share(live_home: LiveHome) -> Iterator[LiveHome]:
    """Yield a running home to a module; stop the agents that are left at its end.

    A coordinator that still answers a message would ask the responder of the next module.
    """
    yield live_home
    for agent in {*live_home.begun, *live_home.working()}:
        live_home.stop(agent)
    assert "Traceback" not in live_home.traces()


@pytest.fixture(scope="module")
def live_home(_common: LiveHome) -> Iterator[LiveHome]:
    """Return a running home whose entities never park, and which other test files have used.

    Give no two agents of this folder the same name. The models openai/small and anthropic/small
    have a context of 26,000 tokens, a token of openai/dear costs a hundredth of a cent, and no
    model of the service `refused` answers.
    """
    yield from _module_share(_common)


@pytest.fixture(scope="module")
def parking_home(_parking: LiveHome) -> Iterator[LiveHome]:
    """Return a running home like `live_home`, whose entities park as soon as they are idle.

    The service `weak`, of Anthropic's format, has the fallback openai/other there. Big teams work
    there all at once, and a refused call waits only for a moment.
    """
    yield from _module_share(_parking)


@pytest.fixture(scope="module")
def killable_home(_killable: LiveHome) -> Iterator[LiveHome]:
    """Return a running home like `live_home`, whose services may be killed any number of times.

    Workers change a repository that is their input in worktrees; external agents may make six model
    calls a node.
    """
    yield from _module_share(_killable)

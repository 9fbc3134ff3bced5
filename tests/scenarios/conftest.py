"""Where scenarios happen: a house of one's own, or a place that many of them share."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.forked import Forked
from tests.fakes.model_server import Brain
from tests.scenarios.house import SERVICES, House
from tests.scenarios.place import Place, placed


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Callable[[Brain], House]]:
    """Return a maker of houses."""
    houses: list[House] = []

    def make(brain: Brain) -> House:
        houses.append(House(tmp_path, brain))
        return houses[-1]

    yield make
    for made in houses:
        made.close()


class CommonPlace(Place):
    """A place whose service `refused` has a wrong key, and where a few tokens are a few dollars."""

    def start_supervisor(self) -> Forked:
        self.environ["REFUSED_API_KEY"] = "sk-wrong-0123456789"
        return super().start_supervisor()


@pytest.fixture(scope="session")
def _common(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("common")
    (home / "agiraph.yaml").write_text("run:\n  park_after_seconds: 0\n")
    (home / "prices.yaml").write_text("openai/dear: {input: 0, output: 100}\n")
    refused = "{api: openai, base_url_env: OPENAI_BASE_URL, key_env: REFUSED_API_KEY}"
    small = "{models: {small: {context: 26000}}}"
    (home / "providers.yaml").write_text(
        f"refused: {refused}\nopenai: {small}\nanthropic: {small}\n"
    )
    with placed(home, CommonPlace, services=SERVICES) as place:
        yield place


@pytest.fixture(scope="session")
def _drowsy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("drowsy")
    falls_back = "models:\n  fallbacks: {anthropic/weak: [openai/other]}\n"
    run = "run:\n  park_after_seconds: 0.2\n  max_concurrent: 64\n"
    broker = "broker:\n  first_delay_seconds: 0.02\n"
    web = "web:\n  search: tavily\n"
    (home / "agiraph.yaml").write_text(f"{run}{falls_back}{broker}{web}")
    with placed(home, services=SERVICES) as place:
        yield place


@pytest.fixture(scope="session")
def _rough(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("rough")
    run = "run:\n  park_after_seconds: 0\n  node_calls: 6\n"
    settings = f"{run}supervisor:\n  intensity: 100\n"
    worktrees = "worktrees:\n  workers: all\n"
    (home / "agiraph.yaml").write_text(f"{settings}{worktrees}")
    with placed(home, services=SERVICES) as place:
        yield place


@pytest.fixture(scope="module")
def place(_common: Place) -> Iterator[Place]:
    """Return a place whose entities never park, where other files have been before.

    Stop each agent at a test's end, and give no two agents of this folder the same name. The
    models openai/small and anthropic/small can be told little at once (26,000 tokens), a token of
    openai/dear costs a hundredth of a cent, and no model of the service `refused` answers.
    """
    yield _common
    assert "Traceback" not in _common.traces()


@pytest.fixture(scope="module")
def drowsy_place(_drowsy: Place) -> Iterator[Place]:
    """Return a place like `place`, whose entities park as soon as they have nothing to do.

    The model anthropic/weak has a fallback there, openai/other. Big teams work there all at once,
    and who was refused waits only for a moment.
    """
    yield _drowsy
    assert "Traceback" not in _drowsy.traces()


@pytest.fixture(scope="module")
def rough_place(_rough: Place) -> Iterator[Place]:
    """Return a place like `place`, whose services may be killed as often as one likes.

    Workers change a repository that is their input in worktrees; external agents may make six model
    calls a node.
    """
    yield _rough
    assert "Traceback" not in _rough.traces()

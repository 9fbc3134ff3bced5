"""Starting is quick: which modules each process does without, until it needs them."""

import subprocess
import sys
from collections.abc import Sequence

import pytest

HEAVY = ("anthropic", "openai", "fastapi", "uvicorn", "websockets", "httpx", "httpx2", "jinja2")
TOOL_HOSTS = ("mcp", "mcp_types")
SHOWY = ("rich", "pygments", "textual", "prompt_toolkit")
TELEMETRY = ("opentelemetry", "prometheus_client")
NEVER = (*HEAVY, *SHOWY, *TELEMETRY, *TOOL_HOSTS)
SMALL = ("dataclasses", "subprocess", "tempfile", "json", "socket", "pathlib", "logging")
OURS = ("pydantic", "asyncio", "zmq", "yaml", "psutil", "click")

BESIDE_LOGS = [name for name in NEVER if name not in ("rich", "pygments")]
"""structlog imports these two where they are installed."""

OF_THE_API = ("httpx", "fastapi", "uvicorn", "opentelemetry")
"""The last is imported by fastapi where it is installed."""

PRELOADED = (
    "from actors.spawner.main import AGENT_MODULES, MODULES, preload;"
    " preload(MODULES); preload(AGENT_MODULES)"
)


@pytest.mark.parametrize(
    ("program", "unwanted"),
    [
        pytest.param("import cli.main", (*NEVER, "pydantic", "asyncio"), id="command line"),
        pytest.param(
            "import cli.run", (*NEVER, "pydantic", "asyncio", "zmq", "yaml", "psutil"), id="run"
        ),
        pytest.param(
            "from agiraph.http.client import Client",
            [name for name in NEVER if name not in ("httpx", "rich", "pygments")],
            id="client",
        ),
        pytest.param(
            "import cli.home_reader",
            [n for n in (*BESIDE_LOGS, "zmq") if n not in OF_THE_API],
            id="reading a home at rest",
        ),
        pytest.param("import actors.supervisor.interpreters", (*NEVER, *OURS), id="prestart"),
        pytest.param("import actors.supervisor.main", BESIDE_LOGS, id="supervisor"),
        pytest.param("import actors.router.main", (*NEVER, "pydantic", "asyncio"), id="router"),
        pytest.param("import actors.broker.main", BESIDE_LOGS, id="broker before its SDK"),
        pytest.param(
            PRELOADED,
            [name for name in BESIDE_LOGS if name != "jinja2"],
            id="spawner and its children",
        ),
    ],
)
def test_nothing_is_imported_that_the_way_to_the_first_call_does_not_need(
    program: str, unwanted: Sequence[str]
) -> None:
    look = f"import sys; {program}; print(*sorted({set(unwanted)!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_package_imports_nothing_of_its_own_until_a_name_is_used() -> None:
    look = (
        "import sys, typing, importlib; before = set(sys.modules); import agiraph;"
        " print(*sorted(set(sys.modules) - before)); names = agiraph.__all__;"
        " assert all(getattr(agiraph, name) is not None for name in names);"
        " assert set(names) <= set(dir(agiraph))"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["agiraph"]

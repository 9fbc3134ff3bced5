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


WITHOUT_BUS = (*NEVER, "pydantic", "asyncio")


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(
            [
                ("import actors.supervisor.processes.interpreters", (*NEVER, *OURS)),
                ("import actors.router.main", WITHOUT_BUS),
                ("import actors.supervisor.main", BESIDE_LOGS),
                ("import actors.broker.main", BESIDE_LOGS),
                (PRELOADED, [name for name in BESIDE_LOGS if name != "jinja2"]),
            ],
            id="prestart, router, supervisor, broker without an SDK, spawner and its children",
        ),
        pytest.param(
            [
                ("import cli.main", WITHOUT_BUS),
                ("import cli.run.command", (*WITHOUT_BUS, "zmq", "yaml", "psutil")),
                (
                    "from agiraph.http.client import Client",
                    [name for name in NEVER if name != "httpx"],
                ),
                (
                    "import cli.options.home_reader",
                    [name for name in (*BESIDE_LOGS, "zmq") if name not in OF_THE_API],
                ),
            ],
            id="command line, run, client, reading a home at rest",
        ),
    ],
)
def test_start_imports_only_modules_needed_for_the_first_call(
    steps: Sequence[tuple[str, Sequence[str]]],
) -> None:
    """Later steps may not import the modules of a step either: one interpreter checks all."""
    looks = [
        f"{program}; print({program!r}, sorted({{*{unwanted!r}}} & {{*sys.modules}}))"
        for program, unwanted in steps
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(("import sys", *looks))],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [f"{program} []" for program, _ in steps]


def test_the_package_imports_nothing_of_its_own_until_a_name_is_used() -> None:
    look = (
        "import sys, typing, importlib; before = set(sys.modules); import agiraph;"
        " print(*sorted(set(sys.modules) - before)); names = agiraph.__all__;"
        " assert all(getattr(agiraph, name) is not None for name in names);"
        " assert set(names) <= set(dir(agiraph))"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["agiraph"]

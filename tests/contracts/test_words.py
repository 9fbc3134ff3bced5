"""Each word of the table has one meaning: class names use it only in the rooms of that meaning."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest
from fastapi.routing import APIRoute

from agiraph.api.app import ROUTERS
from cli.command_table import ALIASES, COMMANDS
from tests.contracts.test_unique_names import ROOT, modules_of

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*")
GLOSSARY = "docs/glossary.md"
OF_ROLES = re.compile("(?:Role|Agentic)Team")
"""Names of the Agentic Team: its word is role."""


class Term(NamedTuple):
    """The rooms and class names in which a word may occur, and the better words elsewhere."""

    rooms: tuple[str, ...]
    names: frozenset[str]
    better: str


TERMS = {
    "Context": Term(
        (),
        frozenset(
            (
                *("ToolContext", "EntityContext", "CoordinatorContext", "WorkerContext"),
                *("CliContext", "CompactionContext", "DoctorContext"),
            )
        ),
        "Knowledge (notes of earlier runs) or SharedValue (the key-value store of a run)",
    ),
    "Knowledge": Term(
        (
            *("agiraph/knowledge/", "agiraph/http/api/knowledge.py", "agiraph/settings/config.py"),
            *("agiraph/http/client/knowledge.py", "actors/gateway/knowledge_requests.py"),
        ),
        frozenset(),
        "Memory (the files of an agent or a worker)",
    ),
    "Team": Term(
        (
            *("agiraph/core/models.py", "agiraph/messages/board.py", "agiraph/tools/ports.py"),
            *(
                "agiraph/sdk/",
                "agiraph/http/api/live.py",
                "actors/worker/external/",
                "cli/console/",
            ),
        ),
        frozenset({"RolesGroup"}),  # of the command `agiraph roles`
        "Role or RoleTeam (the Agentic Team)",
    ),
    "Role": Term(
        (
            *("agiraph/roles/", "agiraph/core/", "agiraph/http/api/roles.py", "agiraph/sdk/"),
            *(
                "agiraph/http/mcp_server/",
                "agiraph/board/",
                "agiraph/tools/",
                "agiraph/llm/embedded/",
            ),
            "actors/coordinator/runs/",
        ),
        frozenset({"Role", "RolesGroup"}),  # RolesGroup: the command `agiraph roles`
        "Kind or Mode",
    ),
    "Host": Term(
        (
            *("actors/host/", "actors/scaler/", "actors/supervisor/", "agiraph/core/hosts.py"),
            *("agiraph/messages/host.py", "agiraph/storage/host_folder.py", "cli/chaos/"),
            *("agiraph/settings/hosts.py", "agiraph/http/api/hosts.py"),
            "agiraph/readmodel/host_records.py",
        ),
        frozenset({"TrustedHosts"}),  # names of machines in an HTTP request
        "Process or Server",
    ),
    "Session": Term(
        (
            *("actors/worker/external/", "agiraph/external/", "agiraph/agent/records.py"),
            "actors/tools/mcp/",
        ),
        frozenset(),
        "Login (of a browser), Console, Run or Process",
    ),
}


OLD_WORDS = {
    "session": "login (of a browser)",
    "team": "roles (the Agentic Team); the workers of a run are under /workers",
}
"""Words that paths of the API and commands do not use, with the word to use."""


def words_of(name: str) -> set[str]:
    """Return the words of a class name; those of the Agentic Team have the word Role."""
    return set(WORD.findall(OF_ROLES.sub("Role", name)))


def misused(places: dict[str, list[str]]) -> list[str]:
    """Return a line for each class with a word of the table outside the rooms of its meaning."""
    return [
        f"{path}: class {name}: not the meaning of '{word.lower()}' in {GLOSSARY};"
        f" better: {term.better}"
        for word, term in TERMS.items()
        for name, paths in sorted(places.items())
        if name not in term.names
        and {word, f"{word}s"} & set(WORD.findall(OF_ROLES.sub("Role", name)))
        for path in paths
        if not path.startswith(term.rooms)
    ]


def test_class_names_use_each_word_in_its_one_meaning() -> None:
    assert misused(modules_of()) == []


def old_words(names: Iterable[str]) -> list[str]:
    """Return a line for each path or command with an old word."""
    return [
        f"{name}: '{word}' has another meaning; better: {better}"
        for name in names
        for word, better in OLD_WORDS.items()
        if {word, f"{word}s"} & set(re.split(r"[^a-z]+", name))
    ]


def test_paths_and_commands_use_each_word_in_its_one_meaning() -> None:
    routes = [route for router in ROUTERS for route in router.routes]
    paths = {route.path for route in routes if isinstance(route, APIRoute)}
    assert len(paths) > 50
    assert old_words([*sorted(paths), *COMMANDS]) == []
    assert set(ALIASES.values()) <= set(COMMANDS)


def test_path_with_an_old_word_is_reported() -> None:
    assert len(old_words(["/sessions/{login}", "/agents/{agent}/team", "/steam"])) == 2


def test_listed_exceptions_exist() -> None:
    places = modules_of()
    assert [name for term in TERMS.values() for name in term.names if name not in places] == []
    rooms = {room for term in TERMS.values() for room in term.rooms}
    assert [room for room in sorted(rooms) if not (ROOT / room).exists()] == []


@pytest.mark.parametrize("word", TERMS)
def test_glossary_explains_each_word(word: str) -> None:
    terms = re.findall(r"\*\*(.+?)\*\*", (ROOT / GLOSSARY).read_text(encoding="utf-8"))
    words = {part for term in terms for part in term.lower().split()}
    assert {word.lower(), f"{word.lower()}s"} & words


def test_misused_word_is_reported_with_the_better_one(tmp_path: Path) -> None:
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "one.py").write_text(
        "class ToolHosts:\n    pass\n\n\nclass Ghost:\n    pass\n"
    )
    [line] = misused(modules_of(tmp_path))
    assert line.startswith("cli/one.py: class ToolHosts: ")
    assert line.endswith("better: Process or Server")

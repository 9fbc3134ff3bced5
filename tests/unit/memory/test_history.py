"""The earlier texts of a memory's files, and edits of a text that has changed meanwhile."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.memory.history import Author, MemoryHistory
from agiraph.memory.memory_files import ChangedMeanwhile, MemoryFiles
from agiraph.settings.config import load_config
from agiraph.storage.home import AgentHome

ADA = Author("human", "laptop")
NOTE = "knowledge/x.md"


class AgentMemory:
    """An agent's memory, and its writer."""

    def __init__(self, path: Path, versions: int = 5) -> None:
        self.home = AgentHome(path)
        self.home.memory.mkdir()
        self.home.memory_file.write_text("# Main\n")
        bounds = load_config().memory.model_copy(update={"versions": versions})
        self.files = MemoryFiles.of_agent(self.home, bounds)
        self.history = MemoryHistory(self.home, versions)

    def agent_writes(self, text: str, *, append: bool = False) -> None:
        self.files.write(NOTE, text, lambda path: self.home.path / path, append=append)

    def told(self) -> list[tuple[int, str, str, str]]:
        versions = self.history.versions(NOTE)
        return [(one.number, one.change, one.by, one.content) for one in versions]


@pytest.fixture
def agent_memory(tmp_path: Path) -> AgentMemory:
    return AgentMemory(tmp_path)


def test_every_version_is_kept_with_its_author(agent_memory: AgentMemory) -> None:
    agent_memory.agent_writes("One.")
    agent_memory.agent_writes("Two.", append=True)
    agent_memory.files.edit(NOTE, "Three.", ADA, None)
    agent_memory.files.edit(NOTE, "", ADA, agent_memory.files.etag(NOTE))
    assert agent_memory.told() == [
        (1, "written", "coordinator", "One.\n"),
        (2, "added to", "coordinator", "One.\n\nTwo.\n"),
        (3, "written", "human", "Three.\n"),
        (4, "removed", "human", ""),
    ]
    assert agent_memory.history.version(NOTE, 3).via == "laptop"
    assert not (agent_memory.home.memory / NOTE).exists()


def test_text_written_by_a_command_is_kept_before_it_is_replaced(agent_memory: AgentMemory) -> None:
    agent_memory.agent_writes("One.")
    (agent_memory.home.memory / NOTE).write_text("By a command.\n")
    agent_memory.files.edit(NOTE, "One.", ADA, None)
    assert agent_memory.told() == [
        (1, "written", "coordinator", "One.\n"),
        (2, "found", "", "By a command.\n"),
        (3, "written", "human", "One.\n"),
    ]


def test_repeated_write_adds_no_version(agent_memory: AgentMemory) -> None:
    for _ in range(2):
        agent_memory.agent_writes("One.", append=True)
        agent_memory.files.edit("MEMORY.md", "# Main\n", ADA, None)
    assert len(agent_memory.told()) == 1
    assert len(agent_memory.history.versions("MEMORY.md")) == 1


def test_only_the_last_versions_are_kept(tmp_path: Path) -> None:
    agent_memory = AgentMemory(tmp_path, versions=2)
    for text in ("One.", "Two.", "Three."):
        agent_memory.agent_writes(text)
    assert [number for number, *_ in agent_memory.told()] == [2, 3]
    with pytest.raises(InvalidInput, match=r"unknown version of knowledge/x.md '1'.*known: 2, 3"):
        agent_memory.history.version(NOTE, 1)


def test_edit_of_an_outdated_text_is_refused_with_its_author(agent_memory: AgentMemory) -> None:
    agent_memory.agent_writes("One.")
    read = agent_memory.files.etag(NOTE)
    agent_memory.agent_writes("Two.")
    with pytest.raises(ChangedMeanwhile, match=r"not as you have read it \(written by coordina"):
        agent_memory.files.edit(NOTE, "Mine.", ADA, read)
    (agent_memory.home.memory / NOTE).write_text("By a command.\n")
    with pytest.raises(ChangedMeanwhile, match="by a command or an editor"):
        agent_memory.files.edit(NOTE, "Mine.", ADA, read)
    with pytest.raises(ChangedMeanwhile, match="there is such a file already"):
        agent_memory.files.edit(NOTE, "Mine.", ADA, "")
    assert (
        agent_memory.files.edit(NOTE, "Mine.", ADA, agent_memory.files.etag(NOTE)).text == "Mine.\n"
    )
    assert agent_memory.files.edit(NOTE, "Mine.", ADA, read).text == "Mine.\n"  # it is as was asked


def test_a_person_may_replace_a_daily_log(agent_memory: AgentMemory) -> None:
    log = agent_memory.home.memory / "2026-11-22.md"
    log.write_text("# Long\n")
    agent_memory.files.edit("2026-11-22.md", "Short.", ADA, None)
    assert log.read_text() == "Short.\n"


@pytest.mark.parametrize(("path", "content"), [("MEMORY.md", ""), ("../GOAL.md", "x")])
def test_invalid_or_required_file_is_refused(
    agent_memory: AgentMemory, path: str, content: str
) -> None:
    with pytest.raises(InvalidInput):
        agent_memory.files.edit(path, content, ADA, None)


def test_concurrent_writers_lose_nothing(agent_memory: AgentMemory) -> None:
    lines = {who: [f"{who} {number}." for number in range(20)] for who in ("One", "Two")}

    def write(who: str) -> None:
        files = MemoryFiles.of_agent(agent_memory.home, load_config().memory)
        for line in lines[who]:
            files.write(NOTE, line, lambda path: agent_memory.home.path / path, append=True)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, lines))
    written = (agent_memory.home.memory / NOTE).read_text().split("\n\n")
    assert sorted(line.strip() for line in written) == sorted(lines["One"] + lines["Two"])

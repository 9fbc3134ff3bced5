"""The memory tools on real folders: names, bounds, scopes, and writing again after a crash."""

from pathlib import Path

import pytest

from agiraph.memory.loading import memory_text
from agiraph.storage.home import AgentHome
from tests.unit.tools.entity_tools import EntityTools


def lead(tmp_path: Path) -> EntityTools:
    entity = EntityTools(tmp_path, "coordinator")
    entity.agent.memory.mkdir(parents=True)
    entity.agent.memory_file.write_text("# What survey remembers\n")
    return entity


async def say(entity: EntityTools, tool: str, **arguments: object) -> str:
    result = await entity.call(tool, **arguments)
    assert not result.is_error, result.content
    return result.content


async def refused(entity: EntityTools, tool: str, **arguments: object) -> str:
    result = await entity.call(tool, **arguments)
    assert result.is_error, result.content
    return result.content


async def test_written_memory_is_read_and_found(tmp_path: Path) -> None:
    entity = lead(tmp_path)
    await say(entity, "memory_write", path="knowledge/x.md", content="# X\n\nX is 4.")
    assert (entity.agent.memory / "knowledge/x.md").read_text() == "# X\n\nX is 4.\n"
    assert await say(entity, "memory_read", path="memory/knowledge/x.md") == "# X\n\nX is 4.\n"
    assert "**knowledge/x.md**" in await say(entity, "memory_search", query="whatever")
    await say(entity, "memory_write", path="MEMORY.md", content="X stands in knowledge/x.md.")
    assert await say(entity, "memory_read", path="memory.md") == "X stands in knowledge/x.md.\n"


async def test_repeated_append_changes_nothing(tmp_path: Path) -> None:
    entity = lead(tmp_path)
    for _ in range(2):
        await say(entity, "memory_write", path="knowledge/x.md", content="One.\n", append=True)
        await say(entity, "memory_write", path="2026-11-22.md", content="Two.")
    assert (entity.agent.memory / "knowledge/x.md").read_text() == "One.\n"
    await say(entity, "memory_write", path="2026-11-22.md", content="Three.")
    assert (entity.agent.memory / "2026-11-22.md").read_text() == "Two.\n\nThree.\n"


async def test_an_empty_content_removes_a_file_but_not_the_main_one(tmp_path: Path) -> None:
    entity = lead(tmp_path)
    await say(entity, "memory_write", path="old.md", content="x")
    assert "removed" in await say(entity, "memory_write", path="old.md", content=" ")
    assert not (entity.agent.memory / "old.md").exists()
    assert "cannot be removed" in await refused(
        entity, "memory_write", path="MEMORY.md", content=""
    )


@pytest.mark.parametrize(
    "path", ["../GOAL.md", "knowledge/../../SOUL.md", "/etc/passwd", "x.txt", ".md/..", ".x.md", ""]
)
async def test_path_outside_the_memory_is_refused(tmp_path: Path, path: str) -> None:
    assert "no memory file" in await refused(lead(tmp_path), "memory_write", path=path, content="x")


async def test_a_link_out_of_the_memory_is_refused(tmp_path: Path) -> None:
    entity = lead(tmp_path)
    (tmp_path / "secret.md").write_text("secret")
    (entity.agent.memory / "link.md").symlink_to(tmp_path / "secret.md")
    assert "may not be read" in await refused(entity, "memory_read", path="link.md")
    assert "may not be written" in await refused(
        entity, "memory_write", path="link.md", content="x"
    )
    assert "secret" not in await say(entity, "memory_search", query="secret")


async def test_exceeded_memory_limit_is_named(tmp_path: Path) -> None:
    entity = lead(tmp_path)
    entity.limited("memory", file_limit=1000, max_files=2, total_limit=1500)
    assert "at most 1000" in await refused(entity, "memory_write", path="a.md", content="x" * 1001)
    await say(entity, "memory_write", path="a.md", content="x" * 900)
    assert "at most 2 are" in await refused(entity, "memory_write", path="b.md", content="x")
    entity.limited("memory", max_files=9)
    assert "more than 1500 bytes" in await refused(
        entity, "memory_write", path="b.md", content="y" * 900
    )
    await say(entity, "memory_write", path="a.md", content="x" * 800)


async def test_an_unknown_file_is_answered_with_the_known(tmp_path: Path) -> None:
    entity = lead(tmp_path)
    await say(entity, "memory_write", path="knowledge/x.md", content="x")
    told = await refused(entity, "memory_read", path="knowledge/y.md")
    assert "unknown memory file 'knowledge/y.md', did you mean 'knowledge/x.md'?" in told


async def test_worker_has_its_own_memory_and_does_not_see_the_memory_of_the_agent(
    tmp_path: Path,
) -> None:
    entity = EntityTools(tmp_path, "worker")
    entity.agent.memory.mkdir(parents=True)
    (entity.agent.memory / "secret.md").write_text("the agent's own")
    await say(entity, "memory_write", path="notebook.md", content="mine")
    assert (entity.run.worker("ada-1").notebook).read_text() == "mine\n"
    assert "mine" in await say(entity, "memory_search", query="own")
    assert "agent's own" not in await say(entity, "memory_search", query="own")
    assert "known: memory.md, notebook.md" in await refused(entity, "memory_read", path="secret.md")


def test_the_prompt_begins_with_main_file_index_and_the_last_two_days(tmp_path: Path) -> None:
    home = AgentHome(tmp_path)
    (home.memory / "knowledge").mkdir(parents=True)
    home.memory_file.write_text("# Main\n")
    for name in ("index.md", "2026-01-01.md", "2026-01-02.md", "2026-01-03.md", "knowledge/x.md"):
        (home.memory / name).write_text(f"this is {name}\n")
    text = memory_text(home, 10_000)
    for name in ("# Main", "this is index.md", "2026-01-02.md", "2026-01-03.md"):
        assert name in text
    assert "2026-01-01" not in text
    assert "knowledge" not in text
    (home.memory / "2026-01-03.md").write_text("long " * 5000)
    cut = memory_text(home, 2000)
    assert len(cut) < 2400
    assert 'characters more before this: memory_read("2026-01-03.md")' in cut

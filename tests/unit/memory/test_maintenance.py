"""When a memory needs maintenance, and insights that are stored once."""

from pathlib import Path

from agiraph.memory.loading import maintenance_reasons, memory_text, old_logs
from agiraph.memory.memory_files import INSIGHTS_FILE, Insight, MemoryFiles, store_insight
from agiraph.settings.config import MemoryConfig, load_config
from agiraph.storage.home import AgentHome


def home_of(tmp_path: Path, days: int) -> AgentHome:
    home = AgentHome(tmp_path)
    home.memory.mkdir()
    home.memory_file.write_text("# Main\n")
    for day in range(1, days + 1):
        (home.memory / f"2026-01-{day:02}.md").write_text(f"# Day {day}\n")
    return home


def bounds(**values: object) -> MemoryConfig:
    return load_config().memory.model_copy(update=values)


def test_memory_within_its_bounds_needs_no_maintenance(tmp_path: Path) -> None:
    assert maintenance_reasons(home_of(tmp_path, 14), bounds()) == []


def test_many_days_and_a_long_main_file_are_reasons(tmp_path: Path) -> None:
    home = home_of(tmp_path, 5)
    home.memory_file.write_text("x" * 1200)
    reasons = maintenance_reasons(home, bounds(keep_days=4, main_limit=1000, max_files=6))
    assert reasons == [
        "it has 5 daily logs, more than 4",
        "MEMORY.md has 1200 characters, more than 1000",
        "it has 6 of the 6 files that are possible",
    ]
    assert old_logs(home) == ["2026-01-01.md", "2026-01-02.md", "2026-01-03.md"]


def test_newest_part_of_a_long_log_is_shown(tmp_path: Path) -> None:
    home = home_of(tmp_path, 1)
    (home.memory / "2026-01-01.md").write_text("old " * 2000 + "the newest line")
    assert memory_text(home, 1000).rstrip().endswith("the newest line")


def test_insight_is_stored_once_with_author_and_time(tmp_path: Path) -> None:
    home = home_of(tmp_path, 0)
    shelf = MemoryFiles.of_agent(home, bounds())
    one = Insight("# Tables count in thousands.", "ada", "first", "r1", 0.0, "abc123")
    assert store_insight(shelf, one, home.path)
    assert not store_insight(shelf, one, home.path)
    other = Insight("Another.", "bob", "second", "r1", 0.0, "def456")
    assert store_insight(shelf, other, home.path)
    text = (home.memory / INSIGHTS_FILE).read_text()
    assert text.count("## Tables count in thousands.") == 1
    assert "(offered by ada, node 'first', run r1, 1970-01-01T00:00:00Z, abc123)" in text
    assert "bob" in text

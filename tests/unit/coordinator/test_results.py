"""Results: copies of published files in `results/`, with their digests."""

import hashlib
from pathlib import Path

import pytest

from actors.coordinator.results import deliver
from agiraph.core.errors import InvalidInput
from agiraph.storage.home import AgentHome, RunHome
from tests.unit.board.board_driver import BoardDriver


@pytest.fixture
def run(tmp_path: Path) -> RunHome:
    return AgentHome(tmp_path.resolve()).run("r1")


def published(driver: BoardDriver, run: RunHome, name: str, **files: str) -> None:
    """Complete a node with these files."""
    driver.busy(name, f"{name}-worker")
    folder = run.node(driver.at(name).folder).published
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
    driver.done(name, summary="done", files=tuple(files))


def test_same_path_of_two_nodes_is_delivered_below_their_names(run: RunHome) -> None:
    driver = BoardDriver()
    published(driver, run, "one", **{"a.md": "1", "sub/b.md": "b"})
    published(driver, run, "two", **{"a.md": "2"})
    for _ in range(2):
        lines = deliver(run, driver.board, ("one", "two/a.md", "one/published/a.md"))
        digests = [hashlib.sha256(text).hexdigest() for text in (b"1", b"b", b"2")]
        paths = ("one/a.md", "sub/b.md", "two/a.md")
        assert lines == [
            f"results/{path} (SHA-256 {digest})"
            for path, digest in zip(paths, digests, strict=True)
        ]
    assert (run.results / "two" / "a.md").read_text() == "2"
    assert (run.results / "two" / "a.md").stat().st_mode & 0o222 == 0


@pytest.mark.parametrize("name", ["one/b.md", "one/../../x", "/etc/passwd", "three", "open"])
def test_only_published_files_are_delivered(run: RunHome, name: str) -> None:
    driver = BoardDriver()
    published(driver, run, "one", **{"a.md": "1"})
    driver.node("open")
    with pytest.raises(InvalidInput):
        deliver(run, driver.board, (name,))
    assert not run.results.exists()


def test_link_in_a_published_folder_is_not_delivered(run: RunHome, tmp_path: Path) -> None:
    driver = BoardDriver()
    published(driver, run, "one", **{"a.md": "1"})
    (tmp_path / "secret").write_text("secret")
    (run.node(driver.at("one").folder).published / "s.md").symlink_to(tmp_path / "secret")
    with pytest.raises(InvalidInput):
        deliver(run, driver.board, ("one/s.md",))
    assert len(deliver(run, driver.board, ("one",))) == 1

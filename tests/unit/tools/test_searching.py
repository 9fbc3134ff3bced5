"""search and find_files: bounded results within the scope, without ignored files and links."""

import os
from pathlib import Path

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.tools import searching
from agiraph.tools.approvals.equivalents import split_glob
from agiraph.tools.search_lines import excerpt
from agiraph.tools.searching import glob_spec
from tests.unit.tools.entity_tools import EntityTools


@pytest.fixture
def project(entity: EntityTools) -> EntityTools:
    """An input folder with a project, and a draft in scratch/."""
    for path, text in {
        ".gitignore": "build/\n*.log\n",
        "src/a.py": "import os\n\n\ndef total(x):\n    return x\n",
        "src/inner/.gitignore": "local.py\n",
        "src/inner/b.py": "total(1)\n",
        "src/inner/local.py": "total(2)\n",
        "build/c.py": "total(3)\n",
        "x.log": "total(4)\n",
        ".env": "total=5\n",
        "node_modules/m/i.js": "total(6)\n",
        "web/page.tsx": "total(7)\n",
    }.items():
        (entity.input / path).parent.mkdir(parents=True, exist_ok=True)
        (entity.input / path).write_text(text)
    (entity.node.scratch / "draft.md").write_text("the total is 8\n")
    return entity


async def test_search_names_path_line_and_text(project: EntityTools) -> None:
    result = await project.call("search", pattern=r"\btotal\b")
    assert result.content.splitlines() == [
        "draft.md:1: the total is 8",
        "input/src/a.py:4: def total(x):",
        "input/src/inner/b.py:1: total(1)",
        "input/web/page.tsx:1: total(7)",
        "[4 matching lines in 6 files]",
    ]


async def test_search_is_narrowed_by_path_and_glob(project: EntityTools) -> None:
    async def lines(**arguments: str) -> list[str]:
        content = (await project.call("search", pattern="total", **arguments)).content
        return [line.partition(":")[0] for line in content.splitlines()[:-1]]

    assert await lines(path="input/src/inner") == ["input/src/inner/b.py"]
    assert await lines(path="input", glob="*.{ts,tsx}") == ["input/web/page.tsx"]
    assert await lines(path="input", glob="src/*.py") == ["input/src/a.py"]
    assert await lines(path="input/build/c.py") == ["input/build/c.py"]
    assert (await project.call("search", pattern="nothing")).content.startswith("No matches in ")


async def test_find_files_skips_ignored_files(project: EntityTools) -> None:
    async def files(glob: str) -> list[str]:
        return (await project.call("find_files", glob=glob)).content.splitlines()

    assert await files("*.py") == ["input/src/a.py", "input/src/inner/b.py"]
    assert await files("input/src/**/b.*") == ["input/src/inner/b.py"]
    assert await files("*.md") == ["draft.md"]
    assert await files("*.rs") == ["No file matches '*.rs'."]


async def test_links_and_special_files_are_not_followed(
    project: EntityTools, tmp_path: Path
) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "s.md").write_text("total secret")
    (project.node.scratch / "door").symlink_to(tmp_path / "secret")
    (project.node.scratch / "s.md").symlink_to(tmp_path / "secret" / "s.md")
    (project.input / "out").symlink_to("/etc")
    os.mkfifo(project.node.scratch / "pipe")
    for path in ("", ".", "input"):
        assert "secret" not in (await project.call("search", pattern="secret", path=path)).content
    for path in ("door", "s.md", "input/out", "/etc", "../../../.."):
        assert (await project.call("search", pattern="x", path=path)).is_error, path
        assert (await project.call("find_files", glob=f"{path}/*")).is_error, path


async def test_files_of_other_nodes_are_searched_only_where_published(
    project: EntityTools,
) -> None:
    other = project.run.node("other")
    for folder in (other.scratch, other.published):
        folder.mkdir(parents=True)
        (folder / "r.md").write_text("total other")
    found = (await project.call("search", pattern="other", path="nodes/other/published")).content
    assert found.startswith("nodes/other/published/r.md:1: total other")
    assert (await project.call("search", pattern="x", path="nodes/other/scratch")).is_error


async def test_results_are_bounded(project: EntityTools, monkeypatch: pytest.MonkeyPatch) -> None:
    (project.node.scratch / "many.txt").write_text("row\n" * 500)
    found = (await project.call("search", pattern="row", path=".")).content.splitlines()
    assert len(found) == 201
    assert found[-1] == "[the first 200 matching lines; narrow path, glob or pattern]"
    monkeypatch.setattr(searching, "LISTED_FILES", 2)
    listed = (await project.call("find_files", glob="*")).content.splitlines()
    assert listed[-1] == "[the first 2 files; give a narrower pattern]"


async def test_pattern_of_exponential_time_is_stopped(
    project: EntityTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "SEARCH_SECONDS", 1.0)
    (project.node.scratch / "a.txt").write_text("a" * 40 + "b")
    result = await project.call("search", pattern="(a+)+$", path=".")
    assert "[stopped after 1 seconds; narrow path, glob or pattern]" in result.content


async def test_invalid_patterns_are_refused(project: EntityTools) -> None:
    assert "not a regular expression" in (await project.call("search", pattern="(")).content
    result = await project.call("search", pattern="x", glob="*" * 9)
    assert result.is_error
    assert "8 stars" in result.content


def test_glob_is_split_at_its_first_wild_part() -> None:
    assert split_glob("input/src/**/*.py") == ("input/src", "**/*.py")
    assert split_glob("*.py") == (".", "*.py")
    assert split_glob("input/") == ("input", "*")
    assert glob_spec("#a").match_file("#a")
    with pytest.raises(InvalidInput, match="alternatives"):
        glob_spec("{a,b}" * 7)


def test_long_line_is_shown_around_its_match() -> None:
    line = "x" * 1000 + "needle" + "y" * 1000
    shown = excerpt(line, 1000)
    assert "needle" in shown
    assert len(shown) <= 302

"""The scan of a project: its entries, left-out files, and the next scan."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agiraph.core.errors import InvalidInput
from agiraph.knowledge.records import (
    KnowledgeNode,
    KnownProject,
    ScanBatch,
    ScannedFile,
    ScanOutcome,
    project_id,
)
from agiraph.knowledge.scan.scanner import ScanLimits, scan
from agiraph.knowledge.store import KnowledgeStore

FILES = {
    "README.md": "# Shop\n\n[badge]\n\nSells things to people.\n",
    "pyproject.toml": '[project]\nname = "shop"\ndependencies = ["fastapi>=1", "pytest"]\n'
    "[tool.ruff]\n",
    "Makefile": "test:\n\tpytest\nrun: test\n",
    "shop/app.py": '"""The web application."""\n\nclass ShopApp:\n    async def serve(self): ...\n',
    "shop/cart.ts": "// The cart of a customer.\nexport function addToCart(x) {}\n",
    "tests/test_app.py": "def test_it(): ...\n",
    ".github/workflows/ci.yml": "on: push\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "shop"
    write(folder, FILES)
    return folder


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def nodes_of(batches: list[ScanBatch]) -> dict[str, KnowledgeNode]:
    return {node.title: node for batch in batches for node in batch.nodes}


def files_of(folder: Path, limits: ScanLimits = ScanLimits()) -> set[str]:  # noqa: B008
    found = nodes_of(list(scan(folder, limits=limits)))
    return {title for title, node in found.items() if node.kind == "file"}


def outcome_of(batches: list[ScanBatch]) -> ScanOutcome:
    assert batches[-1].done is not None
    return batches[-1].done


def test_a_project_is_known_by_its_manifests_its_files_and_its_patterns(project: Path) -> None:
    found = nodes_of(list(scan(project)))
    shop = found["shop"]
    assert shop.kind == "project"
    assert shop.text.startswith("Sells things to people.")
    assert {"Python", "TypeScript", "FastAPI", "Make"} <= set(shop.data["stack"])
    assert shop.data["path"] == str(project)
    patterns = {title for title, node in found.items() if node.kind == "pattern"}
    assert {"Tests: tests/, with pytest", "Style: ruff", "Commands: make test, make run",
            "CI: GitHub Actions"} <= patterns  # fmt: skip
    assert found["shop/app.py"].text == "The web application.\n\nDefines: ShopApp"
    assert found["shop/cart.ts"].text == "The cart of a customer.\n\nDefines: addToCart"
    assert {node.project_id for node in found.values()} == {project_id(project)}


def test_scanned_files_can_be_searched_and_are_linked(project: Path, store: KnowledgeStore) -> None:
    for batch in scan(project):
        written = store.add(batch.nodes, batch.edges)
        assert written.edges == len(batch.edges)
    assert store.search("addToCart")[0].node.title == "shop/cart.ts"
    shop = store.search("sells", kinds=("project",))[0].node
    assert {one.node.title for one in store.neighbors(shop.id) if one.kind == "part_of"} == set(
        FILES
    )


def test_next_scan_returns_only_changes(project: Path, store: KnowledgeStore) -> None:
    for batch in scan(project):
        store.add(batch.nodes, batch.edges)
    again = list(scan(project, store.known(project_id(project))))
    assert files_in(again) == set()
    assert (outcome_of(again).new, outcome_of(again).changed, outcome_of(again).gone) == (0, 0, 0)
    assert store.add(nodes_of(again).values()).changed == 0

    (project / "shop/app.py").write_text("# Another one.\n")
    (project / "shop/new.py").write_text("")
    (project / "Makefile").unlink()
    third = list(scan(project, store.known(project_id(project))))
    assert files_in(third) == {"shop/app.py", "shop/new.py"}
    for batch in third:
        store.add(batch.nodes, batch.edges)
        store.drop(batch.gone)
    assert store.search("ShopApp") == []
    titles = {node.title for node in store.every_node()}
    assert "Makefile" not in titles
    assert not any(title.startswith("Commands") for title in titles), "its pattern is gone, too"
    assert outcome_of(third).gone == 1


def files_in(batches: list[ScanBatch]) -> set[str]:
    return {title for title, node in nodes_of(batches).items() if node.kind == "file"}


IGNORES = {
    ".gitignore": "*.log\n!keep.log\n/top.txt\nbuild/\ndocs/**/draft.md\n# no\n\n\\#hash\nnot a [",
    "a/.gitignore": "*.txt\n!mine.txt\n!deep.log\n/own.py\n",
    "a/b/.gitignore": "mine.txt\n",
}
NAMES = [
    *("x.log", "keep.log", "top.txt", "a/top.txt", "a/mine.txt", "a/b/mine.txt", "a/deep.log"),
    *("build/x.py", "a/build/y.py", "docs/draft.md", "docs/x/y/draft.md", "docs/x/final.md"),
    *("#hash", "a/own.py", "a/b/own.py", "b.txt", "a/b/c.txt", "a/b/keep.log", "builder/x.py"),
]


def test_files_ignored_by_git_are_not_scanned(tmp_path: Path) -> None:
    folder = tmp_path.resolve() / "project"
    write(folder, IGNORES | dict.fromkeys(NAMES, "x"))
    git = ["git", "-c", "core.excludesFile=", "-C", str(folder)]
    subprocess.run([*git, "init", "-q"], check=True)
    listed = subprocess.run(
        [*git, "ls-files", "-z", "--others", "--exclude-standard"], check=True, capture_output=True
    )
    assert files_of(folder) == set(listed.stdout.decode().split("\0")) - {""}


def test_part_of_a_repository_is_scanned_by_the_ignore_rules_above(tmp_path: Path) -> None:
    folder = tmp_path.resolve() / "repository"
    write(folder, {".gitignore": "*.log\n/part/secret.txt\n", "part/x.log": "", "part/y.py": "",
                   "part/secret.txt": ""})  # fmt: skip
    assert files_of(folder / "part") == {"x.log", "y.py", "secret.txt"}, "it is in no repository"
    (folder / ".git").mkdir()
    assert files_of(folder / "part") == {"y.py"}


def test_neither_links_nor_binaries_nor_keys_nor_dependencies_are_scanned(
    project: Path, tmp_path: Path
) -> None:
    outside = tmp_path.resolve() / "outside"
    write(outside, {"private.txt": "not of this project"})
    (project / "link").symlink_to(outside)
    (project / "file-link.py").symlink_to(outside / "private.txt")
    (project / "loop").symlink_to(project)
    os.mkfifo(project / "pipe.py")
    (project / "blob.py").write_bytes(b"text\0binary")
    (project / "large.py").write_bytes(b"x" * 2_000_000)
    write(project, {".env": "KEY=1", "server.pem": "x", "node_modules/x/index.js": "x",
                    "logo.png": "x", ".git/config": "x", "a/__pycache__/x.py": "x"})  # fmt: skip
    assert files_of(project) == set(FILES)


def test_bounded_scan_is_marked_and_forgets_no_file(project: Path) -> None:
    gone = KnownProject(files=(ScannedFile(path="was/here.py", size=1, mtime_ns=1),))
    for limits in (ScanLimits(files=3), ScanLimits(seconds=-1.0), ScanLimits(depth=0)):
        batches = list(scan(project, gone, limits))
        assert not outcome_of(batches).is_complete
        assert not any(batch.gone for batch in batches)
    assert outcome_of(list(scan(project, gone))).gone == 1


def test_unreadable_folder_keeps_its_known_files(project: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads every folder")
    (project / "shop").chmod(0)
    known = KnownProject(files=(ScannedFile(path="shop/app.py", size=1, mtime_ns=1),))
    assert outcome_of(list(scan(project, known))).gone == 0
    (project / "shop").chmod(0o700)


def test_unusual_names_and_manifests_are_scanned(project: Path) -> None:
    name = os.fsdecode(b"bad-\xff.py")
    (project / name).write_text("x = 1\n")
    write(project, {"package.json": '["no object"]', "sub/pyproject.toml": "= no toml",
                    "a/" + "n" * 200 + "/" + "m" * 200 + ".py": "x"})  # fmt: skip
    found = nodes_of(list(scan(project)))
    assert len([node for node in found.values() if node.kind == "file"]) == len(FILES) + 3
    for node in found.values():
        KnowledgeNode.model_validate_json(node.model_dump_json())


def test_ignore_pattern_with_exponential_time_is_skipped(project: Path) -> None:
    write(project, {".gitignore": "a*" * 30 + "b\n*.yml\n", "a" * 200: "x"})
    assert files_of(project) == set(FILES) - {".github/workflows/ci.yml"} | {
        ".gitignore",
        "a" * 200,
    }


def test_scan_process_prints_batches_and_names_an_unreadable_folder(project: Path) -> None:
    program = [sys.executable, "-P", "-m", "agiraph.knowledge.scan"]
    environment = {"PYTHONPATH": os.getcwd(), "PATH": os.defpath}
    done = subprocess.run([*program, str(project)], input=b"{}", capture_output=True,
                          env=environment, check=True)  # fmt: skip
    batches = [ScanBatch.model_validate_json(line) for line in done.stdout.splitlines()]
    assert files_in(batches) == set(FILES)
    assert json.loads(done.stdout.splitlines()[-1])["done"]["files"] == len(FILES)
    failed = subprocess.run([*program, str(project / "none")], input=b"", capture_output=True,
                            env=environment, check=False)  # fmt: skip
    assert failed.returncode == 1
    assert (
        failed.stderr.decode()
        .strip()
        .endswith("none: cannot be scanned (No such file or directory)")
    )


def test_a_folder_that_is_a_file_is_refused(project: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be scanned"):
        list(scan(project / "Makefile"))

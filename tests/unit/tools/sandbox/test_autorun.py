"""Names because of which programs run commands, in every spelling that a file system accepts."""

import pytest

from agiraph.tools.sandbox.autorun import GIT, is_git_folder, is_git_name, program_of


@pytest.mark.parametrize(
    "name",
    [
        *(".git", ".GIT", ".Git", "GIT~1", "git~2", ".git.", ".git ", ".git. ."),
        *(
            ".git::$INDEX_ALLOCATION",
            ".git:x",
            ".g\u200cit",
            "\ufeff.git",
            "x\\.git",
            ".git\\hooks",
        ),
    ],
)
def test_names_equal_to_git_on_some_file_system_are_recognized(name: str) -> None:
    assert is_git_name(name)
    assert program_of(name) == GIT


@pytest.mark.parametrize("name", [".gitignore", ".gitmodules", "git", "x.git", ".github", "agit~1"])
def test_other_names_are_not_git(name: str) -> None:
    assert not is_git_name(name)
    assert program_of(name) == ""


@pytest.mark.parametrize(
    ("name", "program"),
    [
        (".envrc", "the shell"),
        (".VSCode", "an editor"),
        ("shop.code-workspace", "an editor"),
        (".npmrc", "a package manager"),
        (".claude", "a coding agent"),
        (".kilocode", "a coding agent"),
        ("pnpm-workspace.yaml", "a package manager"),
        (".pdm-plugins", "a package manager"),
        (".perldb", "an interpreter or a debugger"),
        (".agiraph.toml", "agiraph"),
        (".Rprofile", "an interpreter or a debugger"),
        (".RData", "an interpreter or a debugger"),
        ("lefthook-local.toml", "git hooks"),
        ("mise.local.toml", "the shell"),
        (".helix", "an editor"),
        (".qwen", "a coding agent"),
        (".pi", "a coding agent"),
        ("Makefile", ""),
        ("conftest.py", ""),
        ("package.json", ""),
    ],
)
def test_autorun_file_names_its_program(name: str, program: str) -> None:
    assert program_of(name) == program


@pytest.mark.parametrize(
    ("path", "program"),
    [
        ("app/.github/hooks", "a coding agent"),
        (".GitHub/Hooks", "a coding agent"),
        ("tools/bazel", "a package manager"),
        (".yarn/releases", "a package manager"),
        (".config/mise.toml", "the shell"),
        ("hooks", ""),
        (".github/workflows", ""),
        ("bin/bazel", ""),
    ],
)
def test_some_names_are_autorun_files_only_in_their_folder(path: str, program: str) -> None:
    above, _, name = path.rpartition("/")
    assert program_of(name, above.rpartition("/")[2]) == program


def test_a_folder_is_a_repository_by_its_files() -> None:
    assert is_git_folder({"HEAD", "objects", "refs", "config"})
    assert is_git_folder({"head", "commondir"})
    assert not is_git_folder({"HEAD", "objects"})
    assert not is_git_folder({"objects", "refs"})

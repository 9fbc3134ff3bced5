"""Autorun files: names in a folder by which programs of a person's machine run commands.

Git, direnv, editors, package managers and coding agents read such files automatically when they are
used in a folder. A file that runs only when a person runs the project (`Makefile`, `conftest.py`,
`package.json`) is not an autorun file: docs/sandbox.md lists both kinds.
"""

import re
from collections.abc import Collection, Mapping
from typing import Final

GIT: Final = "git"
PROGRAMS: Final[Mapping[str, tuple[str, ...]]] = {
    "git hooks": (
        *(".husky", ".githooks", ".git-hooks", ".pre-commit-config.yaml", ".overcommit.yml"),
        *("lefthook.yml", "lefthook.yaml", "lefthook.toml", "lefthook.json", "lefthook-local.yml"),
        *("lefthook-local.yaml", "lefthook-local.toml", "lefthook-local.json"),
        *(".lefthook.yml", ".lefthook.yaml", ".lefthook.toml", ".lefthook.json", ".lefthook"),
        *(".lefthook-local.yml", ".lefthook-local.yaml", ".lefthook-local.toml"),
        *(".lefthook-local.json", ".lefthook-local", "lefthook.jsonc", "lefthook-local.jsonc"),
        *(".lefthook.jsonc", ".lefthook-local.jsonc", "prek.toml", "captainhook.json", "hk.pkl"),
    ),
    "another version control": (".hg", ".sl", ".jj", ".bzr", ".svn", "_darcs", ".pijul"),
    "the shell": (
        *(".envrc", ".env", ".env.leave", ".autoenv", ".autoenv.zsh", ".autoenv_leave.zsh"),
        *(".autoenv.leave", ".shadowenv.d"),
        *("mise.toml", "mise.local.toml", ".mise.toml", ".mise.local.toml", ".mise", ".rtx.toml"),
        *("mise/config.toml", ".config/mise.toml", ".config/mise.local.toml", ".config/mise"),
    ),
    "an editor": (
        *(".vscode", ".idea", ".vs", ".fleet", ".zed", ".devcontainer", ".devcontainer.json"),
        *(".helix", ".nova", ".theia", ".kateproject", ".externalToolBuilders"),
        *(".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".lvimrc"),
        *(".dir-locals.el", ".dir-locals-2.el"),
    ),
    "a package manager": (
        *(".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pnpmfile.mjs", "pnpmfile.js"),
        *(".yarn/releases", ".yarn/plugins", "bunfig.toml", ".cargo", ".bundle", ".mvn"),
        *(".bazelrc", ".bazeliskrc", "tools/bazel", "pnpm-workspace.yaml", ".pdm-plugins"),
        *(".sbtopts", ".jvmopts"),
    ),
    "an interpreter or a debugger": (
        *(".gdbinit", ".lldbinit", ".pdbrc", ".pdbrc.py", ".irbrc", ".pryrc", ".Rprofile"),
        *(".Renviron", ".RData", "irbrc", "_irbrc", "$irbrc", ".config/irb", ".byebugrc"),
        *(".ghci", ".ocamlinit", ".utoprc", ".iex.exs", ".erlang", ".octaverc", ".perldb"),
        *(".rdbgrc", ".rdbgrc.rb"),
    ),
    "a coding agent": (
        *(".claude", ".mcp.json", ".cursor", ".codex", ".gemini", ".opencode", "opencode.json"),
        *("opencode.jsonc", ".windsurf", ".continue", ".roo", ".kiro", ".aider.conf.yml"),
        *(".qwen", ".pi", ".copilot", ".github/hooks", ".amazonq", ".amp", ".factory", ".goose"),
        *(".crush", ".crush.json", "crush.json", ".junie", ".trae", ".augment", ".kilocode"),
        *(".vibe", ".iflow", ".clinerules", ".qoder", ".codebuddy"),
    ),
    "agiraph": (".agiraph.toml",),
}
"""The names by the program that reads them; some only within a folder of a certain name."""

WORKSPACE: Final = ".code-workspace"
DEPENDENCIES: Final = frozenset({"node_modules", "site-packages", "bower_components"})
"""Folders of installed packages: in these only repositories count, since packages contain such
files by the hundred."""

LEAST_IN_REPOSITORY: Final = 2
LONGEST_IN_REPOSITORY: Final = len("commondir")
VENV_FILE: Final = "pyvenv.cfg"
_PROGRAM_OF: Final = {
    name.lower(): program for program, names in PROGRAMS.items() for name in names
}
_FOLDERS: Final = frozenset(name.partition("/")[0] for name in _PROGRAM_OF if "/" in name)
_IGNORED_BY_HFS: Final = dict.fromkeys(
    (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
)
_IGNORED_BY_NTFS: Final = " ."
_SHORT: Final = re.compile(r"git~\d+")


def is_git_name(name: str) -> bool:
    """Whether some file system treats a name as `.git`: also `.GIT`, `.git.`, `GIT~1`.

    The rules are git's own (`core.protectHFS`, `core.protectNTFS`).
    """
    return any(_is_git(part) for part in name.split("\\"))


def _is_git(name: str) -> bool:
    folded = name.translate(_IGNORED_BY_HFS).casefold()
    plain = folded.partition(":")[0].rstrip(_IGNORED_BY_NTFS)
    return plain == ".git" or _SHORT.fullmatch(plain) is not None


def program_of(name: str, above: str = "") -> str:
    """Return the program that runs commands because of a file or folder `name`, or ''.

    `above` is the name of the folder that contains `name`.
    """
    folded = name.lower()
    if above.lower() in _FOLDERS and (found := _PROGRAM_OF.get(f"{above.lower()}/{folded}")):
        return found
    if folded in _PROGRAM_OF:
        return _PROGRAM_OF[folded]
    may_be_git = "git" in folded or not name.isascii()  # a walk calls this for every name
    if may_be_git and is_git_name(name):
        return GIT
    return "an editor" if folded.endswith(WORKSPACE) else ""


def is_git_folder(names: Collection[str]) -> bool:
    """Whether git treats a folder with these names as a repository, without any `.git`."""
    if len(names) < LEAST_IN_REPOSITORY:
        return False
    folded = {name.lower() for name in names if len(name) <= LONGEST_IN_REPOSITORY}
    return "head" in folded and ("commondir" in folded or {"objects", "refs"} <= folded)

"""Attacks on the person's git, by a command that may write the input folder: one row each.

A row contains the person's files in the folder, the actions of a model's command there, and the git
commands that the person runs afterwards, with their folders.
"""

from dataclasses import dataclass
from typing import Final

TOOLS: Final = r"""
evil() {  # a repository at $1 that runs $PROOF; its git folder is called $2 (default: .git)
    local new=$(mktemp -d)
    git init -q --template= "$new"
    git -C "$new" config core.fsmonitor "touch $PROOF; false"
    hook "$new/.git/hooks/post-index-change"; hook "$new/.git/hooks/pre-commit"
    rm -rf "$1/${2:-.git}"; mkdir -p "$1"
    cp -rT "$new/.git" "$1/${2:-.git}"
}
setting() {  # a setting in the file $1 by which git runs $PROOF
    printf '[core]\n\tfsmonitor = "touch %s; false"\n' "$PROOF" >> "$1"
}
hook() {  # a program $1 that leaves a proof
    mkdir -p "$(dirname "$1")"
    printf '#!/bin/sh\ntouch %s\ncat\nexit 0\n' "$PROOF" > "$1"; chmod +x "$1"
}
export -f evil setting hook; export PROOF
"""
STATUS: Final = ("status", "add -A", "commit -qm x --allow-empty")

PLAIN: Final = "mkdir src && echo a > src/a"
REPOSITORY: Final = "git init -q . && echo a > a && git add a && git commit -qm first && mkdir src"
WORKTREE_CONFIG: Final = f"{REPOSITORY} && git config extensions.worktreeConfig true"
SUBMODULE: Final = (
    "git init -q ../lib && git -C ../lib commit -q --allow-empty -m one && "
    f"{REPOSITORY} && git -c protocol.file.allow=always submodule --quiet add ../lib sub && "
    "git commit -qm two"
)
NOT_CHECKED_OUT: Final = f"{SUBMODULE} && git submodule --quiet deinit -f sub && rm -r .git/modules"
NESTED: Final = "mkdir src && git init -q sub && git -C sub commit -q --allow-empty -m x"
DEEP: Final = "mkdir src && git init -q src/sub && git -C src/sub commit -q --allow-empty -m x"
HUSKY: Final = f"{REPOSITORY} && git config core.hooksPath .husky && mkdir .husky && touch .husky/x"
TOOL: Final = (
    f"{REPOSITORY} && mkdir tools && printf '#!/bin/sh\\ncat' > tools/x && chmod +x tools/x"
)


@dataclass(frozen=True)
class InputAttack:
    """One row. `reported` are the beginnings of new paths that must be reported.

    `is_held`: no program runs. Any other attack must be reported. `is_read_only`: the folder cannot
    be protected, so that commands see it read-only. `is_configured`: a command of git's
    configuration is reported before the first command of the run.
    """

    name: str
    command: str
    given: str = REPOSITORY
    reported: tuple[str, ...] = ()
    is_held: bool = True
    is_read_only: bool = False
    is_configured: bool = False
    where: tuple[str, ...] = (".", "sub")
    then: tuple[str, ...] = STATUS


def only_reported(name: str, command: str, *reported: str, given: str = PLAIN) -> InputAttack:
    """Return a row whose new repository, below the folder, can only be reported."""
    return InputAttack(name, command, given, reported, is_held=False)


def filtered(name: str, clean: str, command: str = "hook tools/x") -> InputAttack:
    """Return a row with a filter that runs a file, so that it can only be reported."""
    return InputAttack(
        name,
        f"mkdir -p tools lib; {command}; echo y > a",
        f"{REPOSITORY} && echo 'a filter=x' > .gitattributes && "
        f"git config filter.x.clean '{clean}'",
        is_held=False,
        is_configured=True,
    )


NO_REPOSITORY: Final = (
    InputAttack("git-init", "evil .", PLAIN),
    InputAttack("git-file", "evil . store; echo 'gitdir: store' > .git", PLAIN, ("store",)),
    InputAttack("git-link", "evil . store; ln -s store .git", PLAIN, ("store",)),
    InputAttack("case-variant", "evil . .GIT; evil . .Git", PLAIN, (".GIT", ".Git")),
    InputAttack("stand-in-removed", "rmdir .git; mv .git x; umount .git; evil .", PLAIN),
    InputAttack("stand-in-covered", "mount -t tmpfs none .git; evil .", PLAIN),
    InputAttack("input-renamed", "cd ..; mv files x; mkdir files; cd files; evil .", PLAIN),
    InputAttack("mercurial", "mkdir .hg; touch .hg/hgrc", PLAIN, (".hg",)),
    only_reported("bare-root", "evil . x; mv x/* .; rmdir x", "."),
    only_reported("nested-init", "evil sub", "sub/.git"),
    only_reported("nested-file", "evil sub x; echo 'gitdir: x' > sub/.git", "sub/.git", "sub/x"),
    only_reported("nested-link", "evil sub x; ln -s x sub/.git", "sub/.git", "sub/x"),
    only_reported("nested-bare", "evil sub x; mv sub/x/* sub; rmdir sub/x", "sub"),
    only_reported(
        "nested-commondir",
        "evil sub x; mv sub/x/HEAD sub; echo x > sub/commondir; echo ref: refs/x > sub/x/HEAD",
        "sub",
    ),
    only_reported("nested-in-tracked", "evil src", "src/.git", given=REPOSITORY),
    only_reported("too-deep", "mkdir -p $(printf 'd/%.0s' $(seq 150)); evil sub", "(not all"),
)

REPOSITORIES: Final = (
    InputAttack("config", "setting .git/config"),
    InputAttack("config-replaced", "setting x; mv x .git/config"),
    InputAttack("config-worktree", "setting .git/config.worktree", WORKTREE_CONFIG),
    InputAttack(
        "commondir", "evil x common; echo ../x/common > .git/commondir", reported=("x/common",)
    ),
    InputAttack("hook", "hook .git/hooks/pre-commit; hook .git/hooks/post-index-change"),
    InputAttack("hooks-missing", "hook .git/hooks/pre-commit", f"{REPOSITORY} && rm -r .git/hooks"),
    InputAttack("git-moved", "mv .git x; evil ."),
    InputAttack("git-removed", "rm -rf .git; evil ."),
    InputAttack("unmounted", "unshare -Um bash -c 'umount -l .git; evil .'"),
    InputAttack("first-process", "cd /proc/1/root/$PWD && rm -rf .git; evil ."),
    InputAttack("hard-link-of-config", "ln .git/config x && setting x"),
    InputAttack("hard-link", "setting other", f"{REPOSITORY} && ln .git/config other"),
    InputAttack(
        "alternates", "evil x; echo ../../x > .git/objects/info/alternates", reported=("x/",)
    ),
    InputAttack(
        "gitmodules",
        "printf '[submodule \"s\"]\\n\\tpath = s\\n\\turl = ./x\\n\\tupdate = !touch %s\\n' $PROOF "
        "> .gitmodules",
        then=(*STATUS, "submodule update --init"),
    ),
    InputAttack("attributes", "hook ./x; echo '* filter=x diff=x merge=x' > .gitattributes"),
    InputAttack(
        "linked-git",
        "rm .git; evil .",
        f"{REPOSITORY} && mv .git ../real && ln -s ../real .git",
        is_read_only=True,
    ),
    InputAttack(
        "separate-git-folder",
        "setting store/config; rm -rf store; evil . store",
        "git init -q --separate-git-dir=store . && git commit -q --allow-empty -m x",
    ),
    InputAttack(
        "bare-and-worktree",
        "setting .bare/config; hook .bare/hooks/post-index-change",
        "git init -q --bare .bare && echo 'gitdir: .bare' > .git && git config core.bare false",
    ),
    InputAttack(
        "gitdir-file",
        "echo 'gitdir: x' > .git; evil . x",
        "git init -q ../main && git -C ../main commit -q --allow-empty -m x && "
        "git -C ../main worktree add -q -f $PWD",
        ("x",),
    ),
    InputAttack(
        "within-a-repository",
        "evil .; hook hooks/pre-commit",
        "git init -q .. && mkdir src && git -C .. config core.hooksPath files/hooks",
    ),
)

NAMED_BY_SETTINGS: Final = (
    InputAttack("hooks-path", "hook .husky/pre-commit; hook .husky/post-index-change", HUSKY),
    InputAttack("hooks-path-exchanged", "mv .husky x; hook .husky/pre-commit", HUSKY),
    InputAttack(
        "hooks-path-missing",
        "hook .hooks/_/pre-commit; hook .hooks/_/post-index-change",
        f"{REPOSITORY} && git config core.hooksPath .hooks/_",
    ),
    InputAttack(
        "hooks-path-of-the-person",
        "hook .githooks/pre-commit",
        f"{REPOSITORY} && git config --global core.hooksPath .githooks",
    ),
    InputAttack(
        "hooks-path-is-the-folder",
        "hook ./pre-commit",
        f"{REPOSITORY} && git config core.hooksPath $PWD",
        is_read_only=True,
    ),
    InputAttack(
        "hook-is-a-link",
        "hook tools/x",
        f"{TOOL} && ln -s ../../tools/x .git/hooks/pre-commit",
    ),
    InputAttack(
        "hook-is-a-broken-link",
        "hook tools/check",
        f"{REPOSITORY} && ln -s ../../tools/check .git/hooks/pre-commit",
    ),
    InputAttack(
        "included",
        "setting team.config",
        f"{REPOSITORY} && touch team.config && git config include.path ../team.config",
    ),
    InputAttack(
        "included-missing",
        "setting team.config",
        f"{REPOSITORY} && git config include.path ../team.config",
        is_read_only=True,
    ),
    InputAttack(
        "settings-of-the-person",
        "setting gitconfig",
        f"{REPOSITORY} && touch gitconfig && git config --global include.path $PWD/gitconfig",
    ),
    InputAttack(
        "filter",
        "hook tools/x; echo '* filter=x' > .gitattributes",
        f"{TOOL} && git config filter.x.clean ./tools/x",
    ),
    InputAttack(
        "filter-missing",
        "hook tools/x; echo '* filter=x' > .gitattributes",
        f"{REPOSITORY} && git config filter.x.clean './tools/x --all'",
    ),
    InputAttack("fsmonitor", "hook tools/x", f"{TOOL} && git config core.fsmonitor tools/x"),
    InputAttack(
        "script-missing",
        "hook bin/x; hook x.sh",
        f"{REPOSITORY} && git config core.fsmonitor bin/x && git config alias.st '!sh x.sh'",
        then=("status", "st"),
    ),
    InputAttack(
        "alias", "hook tools/x", f"{TOOL} && git config alias.st '!sh tools/x'", then=("st",)
    ),
    filtered("filter-cd", "cd tools && ./x"),
    filtered("filter-pwd", '"$PWD"/tools/x'),
    filtered("filter-pwd-command", '"$(pwd)"/tools/x'),
    filtered("filter-top", "$(git rev-parse --show-toplevel)/tools/x"),
    filtered("filter-assigned", "T=tools; $T/x"),
    filtered("filter-default", "${GIT_WORK_TREE:-.}/tools/x"),
    filtered("filter-glob", "tools/[x]"),
    filtered("filter-star", "sh tools/*"),
    filtered("filter-find", r"find tools -name x -exec {} \;"),
    filtered("filter-module", "python3 -m lib.x", "echo \"open('$PROOF', 'w')\" > lib/x.py"),
    InputAttack(
        "alias-with-an-option",
        "hook tools/x",
        f"{TOOL} && git add -A && git commit -qm tool && "
        "git config alias.t 'rebase -x tools/x --root'",
        is_configured=True,
        then=("t",),
    ),
)

NESTED_REPOSITORIES: Final = (
    InputAttack("submodule-config", "setting .git/modules/sub/config", SUBMODULE),
    InputAttack("submodule-git-file", "rm sub/.git; evil sub", SUBMODULE),
    InputAttack("submodule-moved", "mv sub x; evil sub", SUBMODULE),
    InputAttack("submodule-not-checked-out", "evil sub", NOT_CHECKED_OUT),
    InputAttack("submodule-missing", "evil sub", f"{NOT_CHECKED_OUT} && rm -rf sub"),
    InputAttack(
        "linked-worktree", "rm sub/.git; evil sub", f"{REPOSITORY} && git worktree add -q sub"
    ),
    InputAttack(
        "linked-worktree-config",
        "setting .git/worktrees/sub/config.worktree",
        f"{WORKTREE_CONFIG} && git worktree add -q sub",
    ),
    InputAttack("other-config", "setting sub/.git/config; hook sub/.git/hooks/pre-commit", NESTED),
    InputAttack("other-moved", "mv sub x; evil sub", NESTED),
    InputAttack("folder-above-moved", "mv src x; evil src/sub", DEEP, where=("src/sub",)),
)

ATTACKS: Final = (*NO_REPOSITORY, *REPOSITORIES, *NAMED_BY_SETTINGS, *NESTED_REPOSITORIES)

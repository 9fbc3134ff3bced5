"""Commands in git's configuration that may run a file of the folder in which git is used.

Git runs the values of some settings (filters, aliases, pagers) with a shell, in the worktree. There
are many ways to name a file in a shell (`cd tools && ./x`, `"$PWD"/x`, a glob), and a program may
load code from its working folder (`python3 -m x`, `make`). So this does not search for paths. A
command is harmless if it is known: a program of a short list with plain options, or an absolute
path outside the folder. All others are reported to a person.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agiraph.settings.variables import GIT_COMMAND_VARIABLES

RUNS_PROGRAM: Final = re.compile(
    r"core\.(editor|pager|askpass|sshcommand|fsmonitor|gitproxy|alternaterefscommand)"
    r"|pager\..*|(credential|credential\..*)\.helper|filter\..*\.(clean|smudge|process)"
    r"|diff\.(external|.*\.(command|textconv))|merge\..*\.driver|alias\..*|hook\..*\.command"
    r"|(merge|diff|gui)tool\..*\.(cmd|path)|gpg\.(program|.*\.program|ssh\.defaultkeycommand)"
    r"|trailer\..*\.(command|cmd)|sequence\.editor|interactive\.difffilter|tar\..*\.command"
    r"|uploadpack\.packobjectshook|remote\..*\.(uploadpack|receivepack)"
    r"|(browser|man)\..*\.(cmd|path)|instaweb\.(browser|httpd)|imap\.tunnel"
    r"|submodule\..*\.update|sendemail\..*cmd"
    r"|lfs\.(customtransfer\..*\.path|extension\..*\.(clean|smudge))"
)
"""Settings whose value is a command, or the path of a program (git lists keys in lower case, except
the part between the dots)."""

NAMES_TOOL: Final = re.compile(
    r"(merge|diff)\.(tool|guitool)|(web|help)\.browser|man\.viewer|sendemail\.(.*\.)?smtpserver"
)
"""Settings with the name of a tool or a server, which is a program if it is a path."""

REMOTE: Final = re.compile(r"remote\..*\.(url|pushurl)|url\..*\.(insteadof|pushinsteadof)")
RUN_BY_ADDRESS: Final = "ext::"

INTERPRETERS: Final = frozenset({
    *("sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "node", "deno", "bun"),
    *("perl", "ruby", "php", "lua", "Rscript", "source", "."),
})  # fmt: skip
RUNNERS: Final = INTERPRETERS | {
    *("env", "xargs", "find", "nice", "time", "timeout", "nohup", "setsid", "stdbuf", "sudo"),
    *("doas", "parallel", "busybox", "awk", "gawk", "mawk", "sed", "make", "gmake", "ninja"),
    *("just", "task", "rake", "npm", "npx", "pnpm", "yarn", "bunx", "tsx", "ts-node", "cargo"),
    *("go", "uv", "uvx", "poetry", "pipenv", "pdm", "hatch", "tox", "nox", "bundle"),
    *("pre-commit", "gradle", "mvn", "composer", "direnv", "mise", "prettier", "eslint"),
    *("docker", "git", "tclsh", "java", "jshell", "dotnet", "julia", "R", "ghci"),
    *("runghc", "osascript", "pwsh", "expect"),
}  # fmt: skip
"""Programs that run other programs, or code of their working folder."""

OPTION: Final = r"--?[\w+-]+(=[\w,+%-]*)?|--|\+\w*|%[a-zA-Z]"
NO_FILE: Final = OPTION + r"|[0-9]+"
EDITOR: Final = (
    r"-(w|n|nw|f|t|c|r|d)|--(wait|new-window|reuse-window|nofork|create-frame|diff|merge|tty)"
    r"|%[a-zA-Z]"
)


def _each(names: str, words: str) -> dict[str, re.Pattern[str]]:
    return dict.fromkeys(names.split(), re.compile(words))


KNOWN: Final[Mapping[str, re.Pattern[str]]] = {
    # `less -k FILE` reads commands from a file.
    **_each("less zless", r"-[a-jl-zA-Z0-9+]+|--(?!les)[a-z-]+(=\w*)?|\+\w*"),
    **_each("more most cat bat batcat delta difft moar moor", f"(?!--pager)({OPTION})"),
    **_each("diff-so-fancy diff-highlight ydiff colordiff icdiff wdiff diff head tail", NO_FILE),
    **_each("tr cut expand unexpand uniq nl xxd hexdump od strings zcat gunzip gzip", NO_FILE),
    **_each("bzcat xzcat unzip iconv dos2unix odt2txt pdftotext docx2txt antiword", NO_FILE),
    **_each("catdoc mediainfo true false xdg-open", NO_FILE),
    **_each("vi vim nvim vimdiff gvim nano micro hx helix code code-insiders codium subl", EDITOR),
    **_each("mate zed kate gedit kwrite emacs emacsclient mcedit joe ne ed meld kdiff3", EDITOR),
    **_each("opendiff p4merge bcomp bcompare kompare tkdiff smerge", EDITOR),
    **_each("gpg gpg2 gpgsm", r"--?[\w-]+"),
    **_each("ssh", r"-[46aACgkqTtvxXYi]+"),
    **_each("git-lfs", r"clean|smudge|filter-process|--skip|--|%f"),
    **_each("git-crypt", r"clean|smudge|diff|--key-name=\w+"),
    **_each("gh glab", r"auth|git-credential"),
}
"""Programs that run no code of their working folder, and the words that each may have, besides
absolute paths outside the folder."""

CREDENTIAL: Final = "git-credential-"
PLAIN_TEXT: Final = re.compile(r"[\w@%+=:,./~| \t'\"-]*")
QUOTED_TILDE: Final = re.compile("['\"]~")
"""A shell does not expand it: it is a folder of that name."""
HOME_VARIABLE: Final = re.compile(r"\$HOME(?=/)|\$\{HOME\}(?=/)")
PARAMETER: Final = re.compile(r"\$(@|[1-9]|LOCAL|REMOTE|BASE|MERGED|BACKUP)\b|\$@")
"""The arguments that git passes to a command: file names, and words typed by the person."""

_NAMES = """
    add apply blame branch cat-file checkout cherry cherry-pick clean commit config count-objects
    describe diff for-each-ref gc help log ls-files ls-tree merge merge-base mv name-rev notes
    range-diff reflog remote reset restore rev-list rev-parse revert rm shortlog show show-branch
    show-ref sparse-checkout stash status switch symbolic-ref tag var whatchanged worktree
"""
SUBCOMMANDS: Final = frozenset(_NAMES.split())
"""Commands of git without an option that runs a program."""

RUNNING_SUBCOMMANDS: Final = frozenset({"fetch", "pull", "push", "rebase", "grep", "ls-remote"})
RUNS_BY_OPTION: Final = re.compile(r"-[a-zA-Z]*[xO].*|--(e|up|rece|op).*|ext::.*|.*['\"\\].*")
"""Options by which these may run a program; git accepts abbreviated long options."""
SUBMODULE: Final = frozenset({"update", "status", "init", "sync", "summary"})
BOOLEANS: Final = frozenset({"", "true", "false", "yes", "no", "on", "off", "0", "1"})
SHOWN_CHARACTERS: Final = 200
MOST_LINKS: Final = 40


@dataclass(frozen=True, slots=True)
class Setting:
    """A line of git's configuration. `origin` is the file with the line, "" if there is none."""

    key: str
    value: str
    origin: str = ""


def settings_of_variables(environ: Mapping[str, str]) -> list[Setting]:
    """Return the commands for git that the person's variables set, each as a setting."""
    return [Setting(name, environ[name]) for name in GIT_COMMAND_VARIABLES if environ.get(name)]


def runs_program(setting: Setting) -> bool:
    """Whether the value of a setting is a command, or the path of a program."""
    return setting.key in GIT_COMMAND_VARIABLES or RUNS_PROGRAM.fullmatch(setting.key) is not None


def commands_to_look_at(settings: Sequence[Setting], folder: Path, home: Path) -> Iterator[str]:
    """Yield the settings by which git may run a file of `folder`, as lines for a person.

    `home` is the person's home folder.
    """
    for setting in settings:
        if may_run_files(setting, folder, home):
            yield f"{setting.key} = {' '.join(setting.value.split())}"[:SHOWN_CHARACTERS]


def may_run_files(setting: Setting, folder: Path, home: Path) -> bool:
    """Whether git may run a file of `folder` by a setting; False only for a known command."""
    if NAMES_TOOL.fullmatch(setting.key):
        return "/" in setting.value and not _is_harmless(setting.value, folder, home)
    if REMOTE.fullmatch(setting.key):
        return RUN_BY_ADDRESS in setting.key + setting.value
    if not runs_program(setting):
        return False
    value = setting.value.strip()
    if value.lower() in BOOLEANS:
        return False
    if setting.key.startswith("alias.") and not value.startswith("!"):
        return not _is_plain_git(value.split())
    if setting.key.startswith("submodule."):
        if not value.startswith("!"):
            return False
    elif setting.key.endswith(".helper") and value and not value.startswith(("!", "/", "~")):
        value = CREDENTIAL + value
    return not _is_harmless(value.removeprefix("!"), folder, home)


def _is_plain_git(words: Sequence[str]) -> bool:
    """Whether a git command with these words runs only git's own programs."""
    words = list(words)
    while words and words[0] in ("-p", "-P", "--no-pager", "--paginate"):
        del words[0]
    if not words:
        return True
    first, *rest = words
    if first == "lfs":
        return all(KNOWN["git-lfs"].fullmatch(word) for word in rest)
    if first == "submodule":
        return bool(rest) and rest[0] in SUBMODULE
    if first in RUNNING_SUBCOMMANDS:
        return not any(RUNS_BY_OPTION.fullmatch(word) for word in rest)
    return first in SUBCOMMANDS


def _is_harmless(command: str, folder: Path, home: Path) -> bool:
    text = PARAMETER.sub("%f", HOME_VARIABLE.sub(lambda _: str(home), command))
    if not PLAIN_TEXT.fullmatch(text) or QUOTED_TILDE.search(text):
        return False
    parts: list[list[str]] = [[]]
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        for word in lexer:
            if word.strip("|"):
                parts[-1].append(word)
            else:
                parts.append([])
    except ValueError:  # a quotation mark that is not closed
        return False
    return all(_is_known(words, folder, home) for words in parts if words)


def _is_known(words: Sequence[str], folder: Path, home: Path) -> bool:
    program, rest = words[0], words[1:]
    is_outside = _is_outside(program, folder, home)
    name = os.path.basename(program) if is_outside else program
    if name == "git":
        return _is_plain_git(rest)
    if name.startswith(CREDENTIAL) and "/" not in name:
        known: re.Pattern[str] | None = re.compile(NO_FILE)
    elif is_outside and not _is_runner(name):
        known = KNOWN.get(name) or re.compile(NO_FILE)
    else:
        known = KNOWN.get(name)
    return known is not None and all(
        known.fullmatch(word) or _is_outside(word, folder, home) for word in rest
    )


def _is_runner(name: str) -> bool:
    return name in RUNNERS or re.sub(r"[\d.]+$", "", name) in RUNNERS


def _is_outside(word: str, folder: Path, home: Path) -> bool:
    """Whether a word is an absolute path that does not lead through the folder, even by links."""
    path = Path(f"{home}{word[1:]}" if word.startswith("~/") else word)
    if not path.is_absolute() or ".." in path.parts:
        return False
    if Path(os.path.realpath(path)).is_relative_to(folder):
        return False
    for _ in range(MOST_LINKS):
        if path.is_relative_to(folder):
            return False
        link = next((one for one in (*reversed(path.parents), path) if one.is_symlink()), None)
        if link is None:
            return True
        target = os.path.join(link.parent, os.readlink(link))
        path = Path(os.path.normpath(target)) / path.relative_to(link)
    return False

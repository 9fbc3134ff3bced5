"""No command with a way to a file of the folder is taken for a known command."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agiraph.tools.sandbox.git_commands import Setting, may_run_files

FOLDER, HOME = Path("/nowhere/shop"), Path("/nowhere/ada")
KNOWN = ("cat", "less -FRX", "git-lfs clean -- %f", "/opt/x", "true", "git status", "delta", "~/x")
WAYS = (
    *("./{0}", "{0}/x", "{0}/../{0}/x", '"$PWD"/{0}', "$(pwd)/{0}", "`pwd`/{0}", "$PWD/{0}"),
    *("${{PWD}}/{0}", "/nowhere/shop/{0}", "/nowhere/ada/../shop/{0}", "'./{0}'", '"{0}"/x'),
    *("./{0}*", "./[{0}]x", "./?x", "sh {0}", "python3 {0}", "python3 -m {0}", "env {0}"),
    *("make {0}", "make -f {0}", "find . -name {0} -exec {{}} ;", "xargs ./{0}", "cd {0}", ". {0}"),
    *("eval ./{0}", "exec ./{0}", "T={0} $T/x", "'~/{0}'", "/usr/bin/make {0}", "./{0} | cat"),
    *("< {0} sh", "sh <{0}", "!{0}", "./\\{0}", "$'./{0}'", "git -c core.pager=./{0} log"),
    *("git submodule foreach ./{0}", "less -k{0}", "ssh -F {0}", "vim -S {0}", "/bin/sh {0}"),
)
BETWEEN = (" | ", " || ", "|", " && ", " ; ", ";", "\n", " & ", " &&\t")
KEYS = ("filter.x.clean", "alias.x", "core.fsmonitor", "diff.x.textconv", "core.pager", "GIT_PAGER")

names = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True)
known = st.sampled_from(KNOWN)


@given(
    st.sampled_from(KEYS),
    st.lists(known, max_size=2),
    st.sampled_from(WAYS),
    names,
    st.lists(known, max_size=2),
    st.sampled_from(BETWEEN),
    st.sampled_from(["", " ", "\t"]),
)
def test_command_with_a_file_of_the_folder_is_always_reported(
    key: str, before: list[str], way: str, name: str, after: list[str], between: str, space: str
) -> None:
    command = space + between.join([*before, way.format(name), *after])
    value = f"!{command}" if key.startswith("alias") else command
    assert may_run_files(Setting(key, value), FOLDER, HOME), value


@given(st.sampled_from(KEYS), st.lists(known, min_size=1, max_size=4))
def test_known_commands_in_a_pipe_are_not_reported(key: str, commands: list[str]) -> None:
    command = " | ".join(commands)
    value = f"!{command}" if key.startswith("alias") else command
    assert not may_run_files(Setting(key, value), FOLDER, HOME), value


@given(st.sampled_from(KEYS), st.text())
def test_any_setting_is_checked_without_an_error(key: str, value: str) -> None:
    may_run_files(Setting(key, value), FOLDER, HOME)

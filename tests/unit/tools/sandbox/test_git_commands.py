"""Which commands of git's configuration may run a file of the folder, and which are known."""

import subprocess
from pathlib import Path

import pytest

from agiraph.settings.variables import GIT_COMMAND_VARIABLES
from agiraph.tools.sandbox.git_commands import (
    Setting,
    commands_to_look_at,
    may_run_files,
    runs_program,
    settings_of_variables,
)

NO_COMMANDS = """
    include.path includeif.<condition>.path core.hookspath help.htmlpath http.sslcapath http.proxy
    remote.<name>.proxy sendemail.smtpsslcertpath instaweb.modulepath fsck.gitmodulespath
    receive.fsck.gitmodulespath credential.usehttppath core.quotepath column.clean color.pager
    diff.<driver>.cachetextconv gitcvs.dbdriver
"""
"""Settings of git with a name like a command. Of hooks and includes the paths are protected."""


def judged(tmp_path: Path, key: str, value: str) -> bool:
    folder = tmp_path.resolve() / "shop"
    folder.mkdir(exist_ok=True)
    return may_run_files(Setting(key, value), folder, tmp_path.resolve() / "person")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("filter.lfs.clean", "git-lfs clean -- %f"),
        ("filter.lfs.process", "git-lfs filter-process"),
        ("filter.lfs.smudge", "git lfs smudge --skip -- %f"),
        ("filter.git-crypt.clean", '"git-crypt" clean'),
        ("filter.own.clean", "/opt/tools/clean --all"),
        ("filter.own.clean", "~/bin/clean %f"),
        ("filter.own.clean", '"$HOME/bin/clean" %f'),
        ("core.fsmonitor", "true"),
        ("core.pager", "less -FRX --tabs=4"),
        ("core.pager", "diff-so-fancy | less --tabs=4 -RFX"),
        ("pager.log", "false"),
        ("interactive.difffilter", "delta --color-only"),
        ("core.editor", "code --wait"),
        ("core.editor", "nvim"),
        ("core.sshcommand", "ssh -i ~/.ssh/id_ed25519"),
        ("credential.helper", "cache --timeout 3600"),
        ("credential.helper", "/usr/lib/git-core/git-credential-libsecret"),
        ("credential.https://github.com.helper", "!/usr/bin/gh auth git-credential"),
        ("credential.helper", ""),
        ("gpg.program", "gpg2"),
        ("gpg.ssh.program", "/opt/1Password/op-ssh-sign"),
        ("merge.ours.driver", "true"),
        ("merge.tool", "vimdiff"),
        ("mergetool.meld.cmd", 'meld "$LOCAL" "$BASE" "$REMOTE"'),
        ("sendemail.smtpserver", "smtp.example.org"),
        ("sendemail.smtpserver", "/usr/sbin/sendmail"),
        ("submodule.lib.update", "rebase"),
        ("alias.lg", "log --graph --pretty=format:'%C(yellow)%h%Creset %s' --abbrev-commit"),
        ("alias.pf", "push --force-with-lease -u origin HEAD"),
        ("alias.ri", "rebase -i --autosquash"),
        ("alias.su", "submodule update --init"),
        ("alias.last", "!git log -1 HEAD | cat"),
        ("remote.origin.url", "git@example.org:a/b.git"),
        ("user.name", "Ada $(whoami)"),
    ],
)
def test_a_known_command_is_not_reported(tmp_path: Path, key: str, value: str) -> None:
    assert not judged(tmp_path, key, value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("filter.x.clean", "./tools/clean"),
        ("filter.x.clean", "tools/clean"),
        ("filter.x.clean", '"$PWD"/tools/clean'),
        ("filter.x.clean", "cd tools && ./clean"),
        ("filter.x.clean", "python3 -m clean"),
        ("filter.x.clean", "/usr/bin/python3.12 -m clean"),
        ("filter.x.clean", "/usr/bin/env clean"),
        ("filter.x.clean", "/usr/bin/make"),
        ("filter.x.clean", "cat | tools/clean"),
        ("filter.x.clean", "cat\ntools/clean"),
        ("filter.x.clean", "'~/bin/clean'"),
        ("filter.x.clean", "~ada/clean"),
        ("filter.x.clean", "/opt/../opt/clean"),
        ("filter.x.clean", "'cat"),
        ("filter.x.clean", "unknown-program"),
        ("core.fsmonitor", "watch.sh"),
        ("core.pager", "less -kkeys"),
        ("core.pager", "less --lesskey-src=keys"),
        ("core.pager", "delta --pager=make"),
        ("core.editor", "vim -S x.vim"),
        ("core.editor", "emacs -l x.el"),
        ("core.sshcommand", "ssh -F tools/config"),
        ("core.sshcommand", "ssh -o ProxyCommand=./x"),
        ("credential.helper", "!sh cred.sh"),
        ("alias.st", "!cd tools && ./st"),
        ("alias.each", "submodule foreach './x'"),
        ("alias.t", "rebase -ix tools/x"),
        ("alias.t", "rebase -'x' tools/x"),
        ("alias.t", "rebase --exe=tools/x"),
        ("alias.b", "bisect run tools/x"),
        ("alias.c", "-c core.fsmonitor=tools/x status"),
        ("alias.g", "grep -Otools/x a"),
        ("alias.f", "fetch --upload-pack tools/x"),
        ("alias.f", "fetch ext::tools/x"),
        ("remote.origin.url", "ext::sh -c ./x"),
        ("url.ext::sh x .insteadof", "https://example.org/"),
        ("merge.tool", "../../tools/x"),
        ("submodule.lib.update", "!tools/x"),
        ("sendemail.smtpserver", "/usr/bin/make"),
        ("hook.lint.command", "make lint"),
        ("lfs.extension.x.clean", "tools/x"),
    ],
)
def test_any_other_command_is_reported(tmp_path: Path, key: str, value: str) -> None:
    assert judged(tmp_path, key, value)


def test_absolute_path_linked_into_the_folder_is_reported(tmp_path: Path) -> None:
    folder = tmp_path.resolve() / "shop"
    (folder / "tools").mkdir(parents=True)
    bin_ = tmp_path.resolve() / "bin"
    bin_.mkdir()
    (bin_ / "into").symlink_to("../shop/tools/x")
    (bin_ / "through").symlink_to(folder / "tools" / "out")
    (folder / "tools" / "out").symlink_to("/bin/cat")
    (bin_ / "beside").symlink_to("/bin/cat")
    for name, is_reported in (("into", True), ("through", True), ("beside", False)):
        assert judged(tmp_path, "filter.x.clean", f"{bin_}/{name}") is is_reported
    assert judged(tmp_path, "filter.x.clean", f"{folder}/tools/out"), "a command can replace it"


def test_every_git_setting_with_a_command_is_checked() -> None:
    """Git lists its settings; this module judges all that have a name like a command."""
    listed = subprocess.run(
        ["git", "help", "--config"], capture_output=True, text=True, check=True
    ).stdout.lower()
    signs = ("cmd", "command", "program", "helper", "editor", "pager", "driver", "textconv")
    more = ("process", "clean", "smudge", "askpass", "external", "uploadpack", "receivepack")
    named = {
        key
        for key in listed.split()
        if key.endswith((*signs, *more, "path", "hook", "proxy")) or key.startswith("alias.")
        if not key.startswith("advice.")
    }
    assert len(named) > 30
    assert {key for key in named if not runs_program(Setting(key, ""))} == set(NO_COMMANDS.split())


def test_variables_with_git_commands_are_checked_as_settings(tmp_path: Path) -> None:
    environ = dict.fromkeys(GIT_COMMAND_VARIABLES, "") | {
        "GIT_EXTERNAL_DIFF": "./x",
        "EDITOR": "vim",
    }
    settings = settings_of_variables(environ)
    found = list(commands_to_look_at(settings, tmp_path, tmp_path))
    assert found == ["GIT_EXTERNAL_DIFF = ./x"]


def test_a_long_command_is_shown_on_one_line(tmp_path: Path) -> None:
    [line] = commands_to_look_at(
        [Setting("alias.x", "!f() {\n  x\n}; " + "y" * 500)], tmp_path, tmp_path
    )
    assert line.startswith("alias.x = !f() { x }; y")
    assert len(line) == 200

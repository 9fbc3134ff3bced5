"""The words before a command: mounts, their order, and refused commands."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agiraph.core.errors import InvalidInput, Refused
from agiraph.settings.config import SandboxConfig, load_config
from agiraph.storage.home import plan_copy
from agiraph.tools.sandbox.mounts import mounts_of
from agiraph.tools.sandbox.probe import SandboxProbe
from agiraph.tools.sandbox.sandbox import Sandbox
from agiraph.tools.sandbox.toolchain import prefix_of, toolchain
from tests.unit.tools.scopes.home_layout import MINE, OTHER, HomeLayout

WORKS = SandboxProbe("/usr/bin/bwrap")


def settings(**values: Any) -> SandboxConfig:
    return load_config().sandbox.model_copy(update=values)


def shown(words: Sequence[str], way: str) -> list[Path]:
    return [Path(words[at + 1]) for at, word in enumerate(words) if word == way]


def test_worker_sees_its_own_and_published_files(layout: HomeLayout) -> None:
    mounts = mounts_of(layout.worker())
    me = layout.run.worker("ada-111111")
    writable = {mount.path for mount in mounts if mount.is_writable}
    assert writable == {layout.node.scratch, me.notebook, me.memory, me.identity}
    readable = {mount.path for mount in mounts if not mount.is_writable}
    assert readable == {
        *(layout.run.plan, layout.run.messages, layout.run.attachments, layout.run.shared),
        *(layout.run.node(MINE).path, layout.run.node(OTHER).published, me.path),
    }


def test_worker_sees_no_replaceable_path_of_the_run_root(
    layout: HomeLayout,
) -> None:
    sources = {mount.path: mount.shown for mount in mounts_of(layout.worker())}
    assert sources[layout.run.plan] == plan_copy(layout.run.path)
    in_root = {path for path in sources if path.parent == layout.run.path}
    folders = {layout.run.messages, layout.run.attachments, layout.run.shared}
    assert in_root == {layout.run.plan, *folders}
    assert layout.run.shared in {
        mount.path for mount in mounts_of(layout.coordinator()) if mount.is_writable
    }, "a mount cannot be replaced from inside"


def test_a_coordinator_is_shown_its_run_and_its_memory(layout: HomeLayout) -> None:
    mounts = mounts_of(layout.coordinator())
    writable = {mount.path for mount in mounts if mount.is_writable}
    assert writable == {
        *(layout.run.path, layout.run.shared, layout.agent.memory_file, layout.agent.memory)
    }
    readable = {mount.path for mount in mounts if not mount.is_writable}
    folders = {layout.run.nodes, layout.run.workers, layout.run.messages, layout.run.attachments}
    covered = folders | {layout.run.journal}
    assert readable == covered | {layout.agent.soul, layout.agent.goal}


def test_link_is_not_mounted_as_its_target(layout: HomeLayout) -> None:
    other = layout.run.node("late-worker-cccccc")
    other.path.mkdir()
    other.published.symlink_to(layout.run.node(OTHER).scratch)
    assert other.published not in {mount.path for mount in mounts_of(layout.worker())}


def test_inner_mounts_follow_outer_mounts(layout: HomeLayout) -> None:
    words = Sandbox(settings(), WORKS).enclose(layout.worker()).words
    assert words[0] == "/usr/bin/bwrap"
    assert words[-1] == "--"
    assert words.index(str(layout.node.path)) < words.index(str(layout.node.scratch))
    assert words[-4:-1] == (
        str(layout.run.worker("ada-111111").notebook),
        "--chdir",
        str(layout.node.scratch),
    )


def test_home_inside_a_program_folder_is_hidden_even_behind_a_link(
    layout: HomeLayout, tmp_path_factory: pytest.TempPathFactory
) -> None:
    link = tmp_path_factory.mktemp("elsewhere") / "link"
    link.symlink_to(layout.root.parent)
    words = Sandbox(settings(), WORKS).enclose(layout.worker(), readable=[link]).words
    at = words.index(str(layout.root.parent))
    assert at < words.index(str(layout.root)) < words.index(str(layout.node.scratch))
    assert words[words.index(str(layout.root)) - 1] == "--tmpfs"
    assert str(link) not in words


def test_a_program_behind_a_link_is_shown_at_both_places(
    layout: HomeLayout, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("pythons")
    (folder / "3.12.1/lib").mkdir(parents=True)
    (folder / "3.12").symlink_to("3.12.1")
    named, real = folder / "3.12/lib", folder / "3.12.1/lib"
    words = Sandbox(settings(), WORKS).enclose(layout.worker(), readable=[named]).words
    at = words.index(str(named))
    assert words[at - 2 : at] == ("--ro-bind-try", str(real))
    words = Sandbox(settings(), WORKS).enclose(layout.worker(), readable=[named, folder]).words
    assert str(named) not in words, "the link itself is shown"


def test_a_home_inside_the_input_is_covered(layout: HomeLayout) -> None:
    scope = layout.worker()
    around = type(scope)(scope.rules, layout.root.parent, scope.home)
    words = Sandbox(settings(input="write"), WORKS).enclose(around).words
    assert shown(words, "--bind-try")[0] == layout.node.scratch, "nor may it be written"
    cover = words.index("--tmpfs", words.index("--tmpfs") + 1)
    assert words[cover + 1] == str(layout.root)
    assert words.index(str(layout.root.parent)) < cover < words.index(str(layout.node.path))


def test_the_input_may_be_written_if_the_settings_say_so(layout: HomeLayout) -> None:
    scope = layout.worker()
    assert layout.input_dir in shown(
        Sandbox(settings(), WORKS).enclose(scope).words, "--ro-bind-try"
    )
    words = Sandbox(settings(input="write"), WORKS).enclose(scope).words
    assert layout.input_dir in shown(words, "--bind-try")


def test_git_of_a_writable_input_stays_read_only(layout: HomeLayout) -> None:
    git = layout.input_dir / ".git"
    git.mkdir()
    (git / "HEAD").touch()
    enclosure = Sandbox(settings(input="write"), WORKS).enclose(layout.worker())
    words = enclosure.words
    assert layout.input_dir in shown(words, "--bind-try")
    assert shown(words, "--ro-bind") == [git]
    assert enclosure.standins == ()
    assert words.index(str(layout.input_dir)) < words.index(str(git))


def test_input_without_git_gets_an_empty_git_folder(layout: HomeLayout) -> None:
    git = str(layout.input_dir / ".git")
    enclosure = Sandbox(settings(input="write"), WORKS).enclose(layout.worker())
    at = enclosure.words.index("--tmpfs", enclosure.words.index(str(layout.input_dir)))
    assert enclosure.words[at : at + 4] == ("--tmpfs", git, "--remount-ro", git)
    assert enclosure.standins == (git,)
    assert Sandbox(settings(), WORKS).enclose(layout.worker()).standins == ()


def test_protected_input_paths_are_mounted_after_writable_folders(
    layout: HomeLayout,
) -> None:
    above = layout.input_dir.parent
    sandbox = Sandbox(settings(input="write"), WORKS)
    words = sandbox.enclose(layout.worker(), writable=[above]).words
    last = len(words) - 1 - words[::-1].index("--bind-try")
    assert words[last + 1] == str(above)
    assert last < words.index("--remount-ro")


def test_an_input_that_cannot_be_protected_is_read_only(layout: HomeLayout) -> None:
    (layout.input_dir / ".git").symlink_to("elsewhere")
    words = Sandbox(settings(input="write"), WORKS).enclose(layout.worker()).words
    assert layout.input_dir in shown(words, "--ro-bind-try")
    assert layout.input_dir not in shown(words, "--bind-try")


def test_network_is_removed_for_all_or_some_workers(layout: HomeLayout) -> None:
    def has_network(wall: Sandbox, **asked: Any) -> bool:
        return "--unshare-net" not in wall.enclose(layout.worker(), **asked).words

    assert has_network(Sandbox(settings(), WORKS))
    assert not has_network(Sandbox(settings(), WORKS), has_network=False)
    some = settings(no_network_for=("intern*", "Bob"))
    assert not some.has_network("bob", "writer")
    assert not some.has_network("eve", "intern-2")
    assert some.has_network("ada", "writer")
    assert not settings(network=False).has_network("ada")


def test_missing_sandbox_runs_commands_unconfined_or_refuses_them(layout: HomeLayout) -> None:
    down = SandboxProbe(why="bubblewrap is not installed", advice="apt install bubblewrap")
    assert Sandbox(settings(), down).enclose(layout.worker()).words == ()
    assert Sandbox(settings(mode="none"), WORKS).enclose(layout.worker()).words == ()
    for strict in (settings(required=True), settings(mode="bwrap")):
        with pytest.raises(Refused, match=r"not installed \(apt install bubblewrap\)"):
            Sandbox(strict, down).enclose(layout.worker())


def test_command_without_network_is_refused_if_the_kernel_cannot_isolate_it(
    layout: HomeLayout,
) -> None:
    wall = Sandbox(settings(), SandboxProbe("/usr/bin/bwrap", has_no_network=False))
    with pytest.raises(Refused, match="network"):
        wall.enclose(layout.worker(), has_network=False)


def test_required_sandbox_contradicts_mode_none(tmp_path: Path) -> None:
    own = tmp_path / "agiraph.yaml"
    own.write_text("sandbox:\n  mode: none\n  required: true\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="mode cannot be none"):
        load_config(own)


def test_only_program_folders_of_a_prefix_on_the_path_are_mounted(tmp_path: Path) -> None:
    prefix = tmp_path.resolve() / "cargo"
    for name in ("bin", "lib"):
        (prefix / name).mkdir(parents=True)
    (prefix / "credentials.toml").write_text("secret", encoding="utf-8")
    folders = toolchain(f"{prefix}/bin:relative:/nowhere:/usr/bin").readable
    assert {prefix / "bin", prefix / "lib"} <= set(folders)
    assert prefix not in folders


def test_a_home_on_the_path_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    (tmp_path / "person").mkdir()
    folders = toolchain(f"{tmp_path}/person:{tmp_path}:/etc").readable
    assert not {tmp_path, tmp_path / "person", Path("/etc")} & set(folders)


def test_virtual_environment_on_the_path_is_mounted_with_its_python(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "base" / "bin").mkdir(parents=True)
    (root / "venv" / "bin").mkdir(parents=True)
    text = f"home = {root}/base/bin\nversion = 3.11\n"
    (root / "venv" / "pyvenv.cfg").write_text(text, encoding="utf-8")
    folders = toolchain(f"{root}/venv/bin").readable
    assert {root / "venv" / "pyvenv.cfg", root / "base" / "bin"} <= set(folders)


def test_inaccessible_program_folder_is_omitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(path: os.PathLike[str] | str, *_: object, **__: object) -> os.stat_result:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("os.stat", closed)
    assert list(prefix_of(tmp_path / "bin")) == []


def test_tmp_is_a_private_folder_of_the_node_and_hides_mounts_below_it(
    layout: HomeLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agiraph.tools.sandbox.bubblewrap.TMP", layout.root.parent)
    words = Sandbox(settings(), WORKS).enclose(layout.worker(), keeps_tmp=True).words
    tmp, name = str(layout.root.parent), str(layout.root)
    at = words.index(tmp)
    assert words[at - 2 : at + 3] == ("--bind", str(layout.node.temporary), tmp, "--tmpfs", name)
    assert (layout.node.temporary / layout.root.name).is_dir()
    assert words[words.index("--remount-ro") + 1] == name
    assert words.index("--remount-ro") > words.index(str(layout.node.scratch))


@pytest.mark.parametrize("odd", ["link", "file", "pipe"])
def test_tmp_is_empty_if_a_command_has_put_something_in_the_way(
    layout: HomeLayout, monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    monkeypatch.setattr("agiraph.tools.sandbox.bubblewrap.TMP", layout.root.parent)
    layout.node.temporary.mkdir()
    place = layout.node.temporary / layout.root.name
    if odd == "link":
        place.symlink_to("/etc")
    elif odd == "file":
        place.touch()
    else:
        os.mkfifo(place)
    words = Sandbox(settings(), WORKS).enclose(layout.worker(), keeps_tmp=True).words
    assert str(layout.node.temporary) not in words
    assert words[words.index("--tmpfs") + 1] == str(layout.root.parent)


def test_coordinator_and_other_programs_have_an_empty_tmp(layout: HomeLayout) -> None:
    for scope, keeps in ((layout.coordinator(), True), (layout.worker(), False)):
        words = Sandbox(settings(), WORKS).enclose(scope, keeps_tmp=keeps).words
        assert words[words.index("--tmpfs") + 1] == "/tmp"

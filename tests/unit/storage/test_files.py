"""Files: no file outside a home is opened or changed, for any files that a model's command may
create in it."""

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agiraph.storage import copies, files, walk
from agiraph.storage.files import MOST_LEVELS
from agiraph.storage.openat2 import FAILED
from agiraph.storage.walk import UnsafeFile, kind_of

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs the privileges of root")
NAMES = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=60
).filter(lambda name: name not in (".", "..") and not files.is_part(name))


def step_by_step(_folder: Path, _flags: int) -> int:
    """The substitute for `openat2` where the kernel has none."""
    return FAILED


@pytest.fixture(params=["at once", "step by step"])
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A home beside a folder that is none of its business."""
    if request.param == "step by step":
        monkeypatch.setattr(walk, "open_without_links", step_by_step)
    for place in ("home/agents/ada", "outside/agents/ada"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "file").write_text(place)
    return tmp_path / "home"


def outside(home: Path) -> dict[str, tuple[int, bytes]]:
    """Return all files outside the home, to check that none has changed."""
    place = home.parent / "outside"
    return {
        str(path.relative_to(place)): (path.stat().st_mode, path.read_bytes())
        for path in sorted(place.rglob("*"))
        if path.is_file()
    } | {
        str(path.relative_to(place)): (path.stat().st_mode, b"")
        for path in sorted(place.rglob("*"))
        if path.is_dir()
    }


def open_to_write(path: Path) -> None:
    os.close(files.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))


READS: dict[str, Callable[[Path], object]] = {
    "read_bytes": files.read_bytes,
    "read_text": files.read_text,
    "read_part": lambda path: files.read_part(path, 0, 10),
    "open_file": lambda path: os.close(files.open_file(path)),
    "set_mode": lambda path: files.set_mode(path, 0o777),
    "copy_from": lambda path: copies.copy_file(path, path.with_name("copy")),
}
WRITES: dict[str, Callable[[Path], object]] = {
    "open_to_write": open_to_write,
    "open_to_append": lambda path: os.close(files.open_file(path, os.O_WRONLY | os.O_APPEND)),
}
PLACES: dict[str, Callable[[Path], object]] = {
    "replace_bytes": lambda path: files.replace_bytes(path, b"new"),
    "replace_file": lambda path: files.replace_file(path, "new"),
    "make_folder": lambda path: files.make_folder(path / "new"),
    "make_private_folder": lambda path: files.make_private_folder(path / "new"),
    "remove_file": files.remove_file,
    "remove_tree": files.remove_tree,
    "move_away": lambda path: files.move(path, path.with_name("moved")),
    "status_of": files.status_of,
}
FOLDERS: dict[str, Callable[[Path], object]] = {
    "entries": files.entries,
    "files_below": files.files_below,
    "open_folder": lambda path: os.close(files.open_folder(path)),
    "sync_folder": files.sync_folder,
    "make_folder": files.make_folder,
    "make_private_folder": files.make_private_folder,
    "new_inside": lambda path: files.replace_file(path / "new", "new"),
}
EVERY = READS | WRITES | PLACES


# --- links ------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize("linked", ["agents", "agents/ada"])
def test_no_component_may_be_a_link(home: Path, linked: str, act: Callable[[Path], object]) -> None:
    (home / linked).rename(home / "away")
    (home / linked).symlink_to(home.parent / "outside" / linked)
    before = outside(home)
    with pytest.raises(UnsafeFile, match=f"{linked} is a symbolic link"):
        act(home / "agents" / "ada" / "file")
    assert outside(home) == before


@pytest.mark.parametrize("act", (READS | WRITES).values(), ids=READS | WRITES)
@pytest.mark.parametrize("is_dangling", [False, True])
def test_a_link_is_not_opened(home: Path, is_dangling: bool, act: Callable[[Path], object]) -> None:
    path = home / "agents/ada/file"
    path.unlink()
    path.symlink_to(home.parent / ("nothing" if is_dangling else "outside/agents/ada/file"))
    before = outside(home)
    with pytest.raises(UnsafeFile, match="file is a symbolic link"):
        act(path)
    assert outside(home) == before
    assert not (home.parent / "nothing").exists()


@pytest.mark.parametrize("act", FOLDERS.values(), ids=FOLDERS)
def test_link_to_a_folder_is_refused(home: Path, act: Callable[[Path], object]) -> None:
    (home / "link").symlink_to(home.parent / "outside")
    before = outside(home)
    with pytest.raises(UnsafeFile, match="link is a symbolic link"):
        act(home / "link")
    assert outside(home) == before


def test_a_link_is_replaced_moved_and_removed_as_such(home: Path) -> None:
    before, ada = outside(home), home / "agents" / "ada"
    (ada / "link").symlink_to(home.parent / "outside/agents/ada/file")
    (ada / "folder").symlink_to(home.parent / "outside/agents")
    files.replace_file(ada / "link", "new")
    assert (ada / "link").read_text() == "new"
    files.move(ada / "folder", ada / "moved")
    assert (ada / "moved").is_symlink()
    files.remove_tree(ada / "moved")
    (ada / "again").symlink_to(home.parent / "outside")
    files.remove_file(ada / "again")
    assert sorted(os.listdir(ada)) == ["file", "link"]
    assert outside(home) == before


def test_a_status_is_the_links_own(home: Path) -> None:
    (home / "link").symlink_to(home.parent / "outside")
    status = files.status_of(home / "link")
    assert status is not None
    assert kind_of(status) == "link"
    assert not files.is_folder(home / "link")
    assert not files.is_file(home / "link")
    assert not files.is_file(home / "link" / "agents" / "ada" / "file")
    assert files.status_of(home / "nothing" / "inside") is None


@pytest.mark.parametrize("act", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize("path", ["agents/../agents/ada/file", "agents/ada/..", "agents/.."])
def test_path_with_parent_references_is_refused(
    home: Path, path: str, act: Callable[[Path], object]
) -> None:
    with pytest.raises(UnsafeFile):
        act(home / path)
    assert (home / "agents/ada/file").read_text() == "home/agents/ada"


@pytest.mark.parametrize("act", PLACES.values(), ids=PLACES)
def test_folder_replaced_by_a_link_during_an_access_is_not_followed(
    home: Path, monkeypatch: pytest.MonkeyPatch, act: Callable[[Path], object]
) -> None:
    """An opened file stays the same file; opening after the exchange is refused."""
    before, ada = outside(home), home / "agents" / "ada"
    opened, is_done = os.open, False

    def exchanging(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        nonlocal is_done
        fd = opened(path, flags, mode, dir_fd=dir_fd)
        if path == "ada" and not is_done:
            is_done = True
            ada.rename(home / "taken")
            ada.symlink_to(home.parent / "outside/agents/ada")
        return fd

    monkeypatch.setattr(walk, "open_without_links", step_by_step)
    monkeypatch.setattr(os, "open", exchanging)
    with suppress(UnsafeFile):
        act(ada / "file")
    monkeypatch.undo()
    assert is_done
    assert outside(home) == before


# --- files that are not regular files ------------------------------------------------------------


def make_socket(path: Path) -> None:
    program = "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, path.name], cwd=path.parent, check=True)


ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (lambda path: os.mkfifo(path), "no regular file"),
    "socket": (make_socket, "no regular file"),
    "folder": (lambda path: path.mkdir(), "a folder where a file belongs"),
}


@pytest.mark.parametrize("act", (READS | WRITES).values(), ids=READS | WRITES)
@pytest.mark.parametrize("kind", ODD)
def test_irregular_file_is_refused_at_once(
    home: Path, kind: str, act: Callable[[Path], object]
) -> None:
    make, reason = ODD[kind]
    make(home / "odd")
    with pytest.raises(UnsafeFile, match=reason):
        act(home / "odd")


@ROOT
@pytest.mark.parametrize("act", (READS | WRITES).values(), ids=READS | WRITES)
def test_a_device_is_refused(home: Path, act: Callable[[Path], object]) -> None:
    try:
        os.mknod(home / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    except OSError:
        pytest.skip("no devices can be made here")
    with pytest.raises(OSError, match="zero"):
        act(home / "zero")


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_irregular_file_is_replaced_and_removed(home: Path, kind: str) -> None:
    ODD[kind][0](home / "odd")
    files.replace_file(home / "odd", "whole")
    assert files.read_text(home / "odd") == "whole"
    ODD[kind][0](home / "other")
    files.remove_tree(home / "other")
    assert not (home / "other").exists()


@pytest.mark.parametrize("is_empty", [True, False])
def test_folder_in_the_place_of_a_new_file_is_moved_aside(home: Path, is_empty: bool) -> None:
    (home / "folder").mkdir()
    if not is_empty:
        (home / "folder" / "inside").touch()
    files.replace_file(home / "folder", "text")
    assert files.read_text(home / "folder") == "text"
    (aside,) = (one.name for one in files.entries(home) if one.name.startswith("folder."))
    assert os.listdir(home / aside) == ([] if is_empty else ["inside"])


def test_a_file_that_is_only_shown_is_cut_and_never_an_error(home: Path) -> None:
    path = home / "shown"
    path.write_bytes(b"a\0b\xff" + b"c" * 100)
    assert files.read_shown(path, 5) == "ab\ufffdc"
    path.unlink()
    path.symlink_to("agents/ada/file")
    assert files.read_shown(path) == files.read_shown(home / "nothing") == ""


@pytest.mark.parametrize("act", FOLDERS.values(), ids=FOLDERS)
def test_file_in_the_place_of_a_folder_is_refused(
    home: Path, act: Callable[[Path], object]
) -> None:
    with pytest.raises(UnsafeFile, match="file is no folder"):
        act(home / "agents" / "ada" / "file")


@ROOT
def test_file_of_another_user_is_read_only_if_permitted(home: Path) -> None:
    path = home / "agents/ada/file"
    os.chown(path, 12345, -1)
    with pytest.raises(UnsafeFile, match="belongs to user 12345"):
        files.read_bytes(path)
    with pytest.raises(UnsafeFile, match="belongs to user 12345"):
        open_to_write(path)
    assert files.read_bytes(path, anyones=True) == b"home/agents/ada"


@ROOT
def test_a_private_folder_of_another_user_is_refused(home: Path) -> None:
    os.chown(home / "agents", 12345, -1)
    with pytest.raises(UnsafeFile, match="belongs to user 12345"):
        files.make_private_folder(home / "agents")


def test_folders_that_are_made_on_the_way_to_a_file_are_private(home: Path) -> None:
    files.replace_file(home / "new" / "folder" / "file", "text")
    files.make_private_folder(home / "other" / "folder")
    for name in ("new", "new/folder", "other", "other/folder"):
        assert stat.S_IMODE((home / name).stat().st_mode) == 0o700


@pytest.mark.parametrize("act", WRITES.values(), ids=WRITES)
def test_a_file_with_a_second_name_is_not_written_in_place(
    home: Path, act: Callable[[Path], object]
) -> None:
    before = outside(home)
    os.link(home.parent / "outside/agents/ada/file", home / "hard")
    with pytest.raises(UnsafeFile, match=r"has 2 names \(hard links\)"):
        act(home / "hard")
    assert files.read_text(home / "hard") == "outside/agents/ada"
    files.replace_file(home / "hard", "new")
    assert outside(home) == before


# --- reading ------------------------------------------------------------------------------------


@given(st.binary(max_size=300), st.integers(0, 400))
def test_a_read_has_a_bound(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, most: int
) -> None:
    path = tmp_path_factory.mktemp("bound") / "file"
    path.write_bytes(data)
    if len(data) <= most:
        assert files.read_bytes(path, most) == data
    else:
        with pytest.raises(UnsafeFile) as refused:
            files.read_bytes(path, most)
        assert refused.value.errno == errno.EFBIG
        assert str(refused.value) == f"{path} has {len(data)} bytes, more than {most}"
    assert files.read_part(path, 7, most) == (data[7 : 7 + most], len(data))


def test_a_file_of_many_gigabytes_is_refused_without_being_read(home: Path) -> None:
    path = home / "agents/ada/file"
    os.truncate(path, 1 << 40)
    with pytest.raises(UnsafeFile, match="more than"):
        files.read_text(path)
    assert files.read_part(path, 0, 4)[0] == b"home"


# --- writing ------------------------------------------------------------------------------------


@given(st.lists(st.tuples(NAMES, st.binary(max_size=100)), max_size=8))
@settings(max_examples=40, deadline=None)
def test_written_files_are_read_back_without_leftovers(
    tmp_path_factory: pytest.TempPathFactory, written: list[tuple[str, bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("names") / "a" / "b"
    files.make_folder(folder)
    kept: dict[str, bytes] = {}
    for name, data in written:
        if len(os.fsencode(name)) <= 255:
            files.replace_bytes(folder / name, data)
            kept[name] = data
    assert {
        entry.name: files.read_bytes(folder / entry.name) for entry in files.entries(folder)
    } == kept
    assert [str(path) for path, _ in files.files_below(folder)] == sorted(kept)


def test_a_name_may_have_255_bytes(home: Path) -> None:
    name = "ü" * 127 + "x"
    files.replace_file(home / name, "text")
    assert files.read_text(home / name) == "text"
    with pytest.raises(OSError, match="too long") as refused:
        files.replace_file(home / f"{name}x", "text")
    assert refused.value.filename == str(home / f"{name}x")
    assert sorted(os.listdir(home)) == ["agents", name]


def test_names_of_partial_files_are_unique(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with files.new_file(home / "same") as first, files.new_file(home / "same") as second:
        assert sum(files.is_part(name) for name in os.listdir(home)) == 2
        os.write(first, b"first")
        os.write(second, b"second")
    assert files.read_text(home / "same") == "first"
    monkeypatch.setattr("secrets.token_hex", lambda count: "0" * 2 * count)
    (home / f".{'0' * 16}.part").symlink_to(home.parent / "outside/agents/ada/file")
    before = outside(home)
    with pytest.raises(FileExistsError):
        files.replace_file(home / "same", "through a link that was guessed")
    assert outside(home) == before


def test_abandoned_write_keeps_the_old_file(home: Path) -> None:
    path = home / "agents/ada/file"
    with suppress(KeyboardInterrupt), files.new_file(path) as fd:
        os.write(fd, b"half")
        raise KeyboardInterrupt
    assert os.listdir(path.parent) == ["file"]
    assert files.read_text(path) == "home/agents/ada"


def test_error_inside_a_new_file_is_raised_unchanged(home: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing, files.new_file(home / "target"):
        files.read_bytes(home / "other")
    assert missing.value.filename == str(home / "other")


def test_leftover_of_a_killed_write_is_not_listed(home: Path) -> None:
    program = (
        "import os, sys, pathlib; from agiraph.storage.files import new_file\n"
        "with new_file(pathlib.Path(sys.argv[1])) as fd: os.write(fd, b'half'); os._exit(9)"
    )
    ended = subprocess.run([sys.executable, "-c", program, home / "agents/ada/file"], check=False)
    assert ended.returncode == 9
    assert len(files.entries(home / "agents/ada")) == 2
    assert [path.name for path, _ in files.files_below(home)] == ["file"]
    assert files.read_text(home / "agents/ada/file") == "home/agents/ada"


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_modes_are_as_asked_less_the_umask(home: Path) -> None:
    def mode(path: str) -> int:
        return stat.S_IMODE((home / path).stat().st_mode)

    files.replace_file(home / "open", "")
    files.replace_bytes(home / "private", b"", 0o600)
    os.close(files.open_file(home / "new" / "log", os.O_WRONLY | os.O_CREAT))
    files.make_folder(home / "above" / "folder")
    files.make_folder(home / "own", 0o700)
    assert [mode(path) for path in ("open", "private", "new/log")] == [0o640, 0o600, 0o600]
    assert [mode(path) for path in ("new", "above", "own")] == [0o700] * 3
    assert mode("above/folder") == 0o750
    files.make_private_folder(home / "above" / "folder")
    assert mode("above/folder") == 0o700
    files.set_mode(home / "open", 0o444)
    files.replace_file(home / "open", "a file that was read-only is replaced")
    assert mode("open") == 0o640


def test_a_folder_that_is_there_is_made_again_without_complaint(home: Path) -> None:
    files.make_folder(home / "agents")
    files.make_folder(home / "a" / "b" / "c")
    assert files.is_folder(home / "a" / "b" / "c")


def test_copy_and_move_keep_the_whole_file(home: Path) -> None:
    data = os.urandom((1 << 20) + 17)
    files.replace_bytes(home / "source", data)
    copies.copy_file(home / "source", home / "new" / "copy")
    files.move(home / "source", home / "other" / "moved")
    assert files.read_bytes(home / "new" / "copy") == files.read_bytes(home / "other/moved") == data
    assert files.status_of(home / "source") is None
    with pytest.raises(FileNotFoundError):
        files.move(home / "source", home / "new" / "copy")


# --- folders ------------------------------------------------------------------------------------


def test_entries_have_kind_size_and_time(home: Path) -> None:
    (home / "link").symlink_to("agents")
    os.mkfifo(home / "pipe")
    (home / "file").write_bytes(b"four")
    found = files.entries(home)
    assert [(one.name, one.kind) for one in found] == [
        ("agents", "folder"),
        ("file", "file"),
        ("link", "link"),
        ("pipe", "other"),
    ]
    assert found[1].size == 4
    assert found[1].changed_at == (home / "file").stat().st_mtime
    with pytest.raises(FileNotFoundError, match="nothing"):
        files.entries(home / "nothing")


def test_listing_is_bounded(home: Path) -> None:
    for folder in range(3):
        for number in range(400):
            files.make_folder(home / f"{folder}")
            (home / f"{folder}" / f"{number}").touch()
    assert len(files.entries(home / "0", 300)) == 300
    assert len(files.files_below(home, 300)) <= 300
    assert len(files.files_below(home)) == 1201
    files.remove_tree(home)
    assert not home.exists()


def test_a_walk_does_not_leave_the_tree(home: Path) -> None:
    (home / "agents/link").symlink_to(home.parent / "outside")
    (home / "agents/file").symlink_to(home.parent / "outside/agents/ada/file")
    (home / "agents/loop").symlink_to(".")
    os.mkfifo(home / "agents/pipe")
    assert [str(path) for path, _ in files.files_below(home)] == ["agents/ada/file"]


def deep(top: Path, levels: int) -> None:
    """Make folders in folders, longer than any path may be, with a file in each."""
    fd = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("deeper", dir_fd=fd)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=fd)
        os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=inner))
        os.close(fd)
        fd = inner
    os.close(fd)


@pytest.mark.parametrize("home", ["step by step"], indirect=True)
def test_walk_has_a_maximum_depth_and_removal_has_none(home: Path) -> None:
    deep(home, 1500)
    found = files.files_below(home)
    assert len(found) == MOST_LEVELS + 1
    files.remove_tree(home)
    assert not home.exists()


def test_unwritable_tree_is_removed(home: Path) -> None:
    before = outside(home)
    (home / "agents/ada/link").symlink_to(home.parent / "outside")
    (home / "agents/ada/inner/most").mkdir(parents=True)
    for folder in ("agents/ada/inner/most", "agents/ada/inner", "agents/ada", "agents"):
        (home / folder).chmod(0)
    files.remove_tree(home / "agents")
    assert os.listdir(home) == []
    assert outside(home) == before


def test_removal_of_a_missing_path_does_nothing(home: Path) -> None:
    for act in (files.remove_file, files.remove_tree):
        act(home / "nothing")
        act(home / "nothing" / "inside")


def test_every_descriptor_is_closed(home: Path) -> None:
    place = Path("/proc/self/fd")
    if not place.is_dir():
        pytest.skip("the system does not list descriptors")
    (home / "link").symlink_to("agents")
    os.mkfifo(home / "pipe")
    before = len(os.listdir(place))
    for path in ("agents/ada/file", "link", "pipe", "nothing", "agents", "link/ada", "agents/.."):
        for act in (EVERY | FOLDERS).values():
            try:
                act(home / path)
            except OSError:
                continue
    assert len(os.listdir(place)) == before

"""Lock, folders and requests of a home."""

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.supervisor.supervisor_service import check_start
from agiraph.core.errors import Refused
from agiraph.core.ids import SUPERVISOR, Address
from agiraph.messages.authorization import refusal
from agiraph.messages.child import ChildSpec, StartChild
from agiraph.storage import home_folders as paths
from agiraph.storage.files import open_folder
from agiraph.storage.home import Home
from agiraph.storage.home_folders import (
    HomeLock,
    HomeLocked,
    make_folders,
    make_private,
    remove_socket_folder,
    remove_stale_socket_folders,
    socket_folder,
    socket_url,
)
from agiraph.storage.walk import closing


def test_home_can_be_locked_once(tmp_path: Path) -> None:
    first, second = (HomeLock(tmp_path, tmp_path / "lock") for _ in range(2))
    first.acquire()
    with pytest.raises(
        HomeLocked, match=f"home {tmp_path} is held by supervisor pid {os.getpid()}"
    ):
        second.acquire()
    first.release()
    second.acquire()
    second.release()
    second.release()


def test_removed_lock_file_does_not_admit_a_second_supervisor(tmp_path: Path) -> None:
    first, second = (HomeLock(tmp_path, tmp_path / "lock") for _ in range(2))
    first.acquire()
    (tmp_path / "lock").unlink()
    with pytest.raises(HomeLocked, match="supervisor pid unknown"):
        second.acquire()
    first.release()


def test_read_only_command_does_not_block_the_start_of_a_supervisor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = HomeLock(tmp_path, tmp_path / "lock")
    with closing(open_folder(tmp_path)) as looked_at:
        fcntl.flock(looked_at, fcntl.LOCK_SH)
        monkeypatch.setattr("time.sleep", lambda _seconds: fcntl.flock(looked_at, fcntl.LOCK_UN))
        lock.acquire()
    lock.release()


def test_folders_are_closed_to_others(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.system.path.mkdir(parents=True, mode=0o755)
    make_folders(home)
    assert stat.S_IMODE(home.system.path.stat().st_mode) == 0o700


def test_a_link_in_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(Refused, match="not a folder of ours"):
        make_private(tmp_path / "link")


def test_long_socket_path_moves_to_a_short_folder(tmp_path: Path) -> None:
    near = Home(Path("/tmp") / f"agiraph-test-{os.getpid()}")
    try:
        assert socket_url(near) == f"ipc://{near.path}/system/run/router.sock"
    finally:
        near.system.sockets.rmdir()
        near.system.path.rmdir()
        near.path.rmdir()
    far = Home(tmp_path / ("x" * 120))
    url = socket_url(far)
    assert len(url) < 108
    assert url == socket_url(far)
    folder = Path(url.removeprefix("ipc://")).parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert folder == socket_folder(far, os.environ)
    remove_socket_folder(far, url)
    assert not folder.exists()


@pytest.fixture
def short() -> Iterator[Path]:
    """Yield a folder with a short path."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="a-") as folder:
        yield Path(folder).resolve()


def test_socket_folder_is_short_enough_and_private(tmp_path: Path, short: Path) -> None:
    far = Home(tmp_path / ("x" * 120))
    long = tmp_path / ("y" * 120)
    long.mkdir()
    runtime = short / "run"
    runtime.mkdir(mode=0o700)
    variables = {"XDG_RUNTIME_DIR": str(runtime), "TMPDIR": str(long)}
    name = socket_folder(far, variables).name
    assert socket_folder(far, variables) == runtime / name
    assert socket_folder(far, {"TMPDIR": str(short)}) == short / name
    assert socket_folder(far, {"TMPDIR": str(long)}) == Path("/tmp").resolve() / name
    assert socket_folder(far, {"TMPDIR": str(short / "none")}) == Path("/tmp").resolve() / name
    assert socket_folder(far, {"XDG_RUNTIME_DIR": "run"}) == Path("/tmp").resolve() / name
    assert socket_folder(Home(tmp_path / ("z" * 120)), variables).name != name
    runtime.chmod(0o755)
    assert socket_folder(far, variables) == Path("/tmp").resolve() / name
    short.chmod(0o777)
    assert socket_folder(far, {"TMPDIR": str(short)}) == Path("/tmp").resolve() / name
    short.chmod(0o700)
    (short / name).mkdir(mode=0o755)
    assert socket_folder(far, {"TMPDIR": str(short)}) == Path("/tmp").resolve() / name


def test_stale_socket_folders_are_removed(
    tmp_path: Path, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "SHARED", short)
    monkeypatch.setattr("os.environ", {})

    def folder_of(name: str, *, has_home: bool) -> Path:
        home = Home(tmp_path / (name + "x" * 120))
        if has_home:
            home.path.mkdir()
        folder = Path(socket_url(home).removeprefix("ipc://")).parent
        (folder / "router.sock.lock").touch(0o600)
        return folder

    living, locked = folder_of("living", has_home=True), folder_of("locked", has_home=False)
    gone, starting = folder_of("gone", has_home=False), folder_of("starting", has_home=True)
    (starting / "router.sock.lock").unlink()
    old, recent = folder_of("old", has_home=True), folder_of("recent", has_home=True)
    for unnamed in (old, recent):
        (unnamed / "home").unlink()
    now = old.stat().st_mtime
    os.utime(old, (now, now - 100_000))
    foreign = short / f"agiraph-{os.geteuid() + 1}-0"
    foreign.mkdir()
    with open(locked / "router.sock.lock") as router:
        fcntl.flock(router, fcntl.LOCK_EX)
        assert remove_stale_socket_folders({}, now) == sorted([gone, old])
    assert sorted(short.iterdir()) == sorted([living, locked, starting, recent, foreign])


def test_home_without_a_socket_folder_is_refused_with_reasons_and_variables(
    tmp_path: Path, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = Home(tmp_path / ("x" * 120))
    name = socket_folder(far, {}).name
    monkeypatch.setattr(paths, "SHARED", short)
    (short / name).symlink_to(tmp_path)
    with pytest.raises(Refused) as refused:
        socket_folder(far, {"TMPDIR": str(tmp_path / ("y" * 120))})
    told = str(refused.value)
    length = len(os.fsencode(far.system.sockets / "router.sock"))
    assert f"{far.system.sockets}: {length} bytes with the socket's name, 100 are possible" in told
    assert f"{short / name}: it is not a private folder of ours" in told
    for what in ("--home", "AGIRAPH_HOME", "XDG_RUNTIME_DIR", "TMPDIR"):
        assert what in told


@pytest.mark.parametrize(
    ("sender", "address", "is_allowed"),
    [
        ("human", "shop/coordinator", True),
        ("human", "shop/ada", True),
        ("shop/coordinator", "shop/ada", True),
        ("shop/coordinator", "shop/coordinator", False),
        ("shop/coordinator", "bank/ada", False),
        ("shop/ada", "shop/bob", False),
        ("console/1", "shop/ada", False),
        ("broker", "shop/ada", False),
        ("human", "console/1", False),
        ("human", "human", False),
    ],
)
def test_child_is_started_only_by_the_human_or_its_coordinator(
    sender: str, address: str, is_allowed: bool
) -> None:
    spec = ChildSpec(address=Address(address), kind="worker", owner=Address(sender))
    told = refusal(sender, SUPERVISOR, StartChild(spec=spec))
    if is_allowed:
        assert told is None
        check_start(spec, ["coordinator", "worker"])
    elif told is None:
        with pytest.raises(Refused):
            check_start(spec, ["coordinator", "worker"])

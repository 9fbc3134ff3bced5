"""The users of a home's supervisor: shares, and waiting for each other."""

import sys
from pathlib import Path
from subprocess import PIPE, Popen

from agiraph.storage.home import Home
from agiraph.storage.home_users import HomeShare, is_used

UNUSED = (
    "import sys; from pathlib import Path; from agiraph.storage.home_users import *; "
    "wait_until_unused(Path(sys.argv[1])); print('unused', flush=True); sys.stdin.read()"
)


def ending(home: Path) -> "Popen[str]":
    """Start a process that waits until there is no share, then says so and waits for its input."""
    return Popen([sys.executable, "-c", UNUSED, str(home)], stdin=PIPE, stdout=PIPE, text=True)


def test_shared_lock_lasts_until_its_last_release(tmp_path: Path) -> None:
    assert not is_used(tmp_path)
    with HomeShare(tmp_path) as one, HomeShare(tmp_path) as other:
        one.acquire(make=True)
        other.acquire()
        one.release()
        assert is_used(tmp_path)
    assert not is_used(tmp_path)


def test_unused_share_creates_no_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with HomeShare(home) as share:
        share.acquire()
        assert not home.exists()


def test_the_folder_of_the_file_is_private(tmp_path: Path) -> None:
    with HomeShare(tmp_path / "home") as share:
        share.acquire(make=True)
        assert Home(tmp_path / "home").system.path.stat().st_mode & 0o777 == 0o700


def test_user_that_arrives_during_shutdown_waits_for_the_end_of_the_process(tmp_path: Path) -> None:
    with HomeShare(tmp_path) as first, HomeShare(tmp_path) as second:
        first.acquire(make=True)
        with ending(tmp_path) as process:
            first.release()
            assert process.stdout is not None
            assert process.stdin is not None
            assert process.stdout.readline() == "unused\n"
            assert not is_used(tmp_path)
            second.acquire(on_wait=process.stdin.close)
            assert is_used(tmp_path)
            assert process.wait(10) == 0

"""A disk of a few megabytes that can be filled: a tmpfs, mounted for a test.

If only root may mount and user namespaces are allowed, the test runs again inside one: `small_disk`
then skips the outer test, once the inner test has passed.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

INSIDE = "AGIRAPH_TEST_IN_NAMESPACE"
PIECE = bytes(64 * 1024)


class SmallDisk:
    """A mounted file system; `fill` uses up all its room, `free` releases it."""

    def __init__(self, path: Path) -> None:
        """Store the mount point."""
        self.path = path
        self._filler = path / "filler"

    def fill(self) -> None:
        """Write until the disk is full."""
        with open(self._filler, "ab", buffering=0) as file:
            for size in (len(PIECE), 512):
                with contextlib.suppress(OSError):
                    while True:
                        os.write(file.fileno(), PIECE[:size])

    def free(self) -> None:
        """Release the room."""
        self._filler.unlink()


@contextlib.contextmanager
def small_disk(folder: Path, size: str = "24m") -> Iterator[SmallDisk]:
    """Mount a disk of this size in a new folder `disk`; skip the test if that is impossible."""
    path = folder / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        _run_inside()
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def _run_inside() -> None:
    """Run the current test again in its own user namespace, where mounting is allowed."""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    probe = subprocess.run(["unshare", "-Umr", "true"], check=False, capture_output=True)
    if os.environ.get(INSIDE) or probe.returncode != 0:
        pytest.skip("no small disk: neither mount nor a user namespace is allowed here")
    again = ["unshare", "-Umr", sys.executable, "-m", "pytest", "-q", test]
    done = subprocess.run(
        again, check=False, capture_output=True, text=True, env={**os.environ, INSIDE: "1"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pytest.skip("passed in a user namespace of its own")

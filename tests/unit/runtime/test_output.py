"""The log of a process's stderr is begun again when it is large."""

import subprocess
import sys
from pathlib import Path

import pytest

from actors.runtime.child import LOG_LIMIT, open_log

PROGRAM = """
import os, sys
from pathlib import Path
from actors.runtime.child import rotate_output
for text in ("first", "second"):
    rotate_output(Path(sys.argv[1]))
    os.write(2, text.encode())
"""


@pytest.mark.parametrize("is_large", [True, False])
def test_only_a_large_log_is_truncated(tmp_path: Path, is_large: bool) -> None:
    log = tmp_path / "logs" / "supervisor.log"
    fd = open_log(log)
    with open(fd, "wb") as stderr:
        stderr.truncate(LOG_LIMIT + 1 if is_large else 3)
        done = subprocess.run([sys.executable, "-c", PROGRAM, str(log)], stderr=stderr, check=False)
    assert done.returncode == 0
    assert log.read_bytes() == (b"firstsecond" if is_large else b"\0\0\0firstsecond")
    assert log.with_suffix(".log.1").exists() is is_large
    assert log.stat().st_mode & 0o077 == 0


def test_other_output_is_not_truncated(tmp_path: Path) -> None:
    log = tmp_path / "supervisor.log"
    log.write_bytes(b"of another")
    other = tmp_path / "stderr"
    with other.open("wb") as stderr:
        stderr.truncate(LOG_LIMIT + 1)
        stderr.seek(0, 2)
        subprocess.run([sys.executable, "-c", PROGRAM, str(log)], stderr=stderr, check=True)
    assert other.read_bytes().endswith(b"firstsecond")
    assert log.read_bytes() == b"of another"


WRITER = """
import sys
from functools import partial
from pathlib import Path
from actors.runtime import child
from agiraph.logs.log import logger, set_up_logging
child.LOG_LIMIT = 10_000
log = Path(sys.argv[1])
child.redirect_output(log)
set_up_logging("info", "json", rotate=partial(child.rotate_output, log))
for number in range(1000):
    logger().info("a server wrote", line="x" * 200, number=number)
print("stdout", flush=True)
"""


def test_log_of_a_running_process_does_not_grow_without_limit(tmp_path: Path) -> None:
    log = tmp_path / "tools.flood.log"
    subprocess.run([sys.executable, "-c", WRITER, str(log)], check=True)
    assert {file.name for file in tmp_path.iterdir()} == {log.name, f"{log.name}.1"}
    assert all(file.stat().st_size < 11_000 for file in tmp_path.iterdir())
    assert log.read_bytes().endswith(b"stdout\n")

"""A fresh interpreter ends with the descriptor at which it waits for its launch."""

import os
from pathlib import Path

from actors.supervisor.interpreters import start_actor


def test_an_interpreter_whose_launch_never_comes_ends_with_its_descriptor(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "broker.log"
    pid, pipe = start_actor(dict(os.environ), log)
    os.close(pipe)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 71
    assert log.read_text() == ""

"""The cause of an exit, determined from all the evidence."""

from pathlib import Path

import pytest

from actors.supervisor.processes.causes import (
    TAIL_LINES,
    KillReason,
    cause_of,
    oom_kills,
    size_of,
    tail_of,
)
from actors.supervisor.processes.restarts import ProcessExit
from agiraph.messages.child import ExitCause

KILLED = ProcessExit(signal=9)


def told(
    ended: ProcessExit,
    kill_reason: KillReason | None = None,
    killed: int = 0,
    step: str = "",
    tail: tuple[str, ...] = (),
) -> ExitCause:
    return cause_of(ended, kill_reason=kill_reason, oom_kills=killed, step=step, tail=tail)


@pytest.mark.parametrize(
    ("cause", "kind", "text"),
    [
        (
            told(ProcessExit(code=1), tail=("Traceback", "ValueError: x")),
            "exit",
            "exit code 1: Value",
        ),
        (told(KILLED), "signal", "killed by SIGKILL"),
        (told(KILLED, killed=1), "out_of_memory", "killed by SIGKILL: out of memory"),
        (told(ProcessExit(signal=11), killed=1), "signal", "killed by SIGSEGV"),
        (
            told(ProcessExit(code=1), tail=("MemoryError",)),
            "out_of_memory",
            "exit code 1: out of memory",
        ),
        (told(ProcessExit(code=74)), "no_space", "no space is left on the disk"),
        (told(KILLED, KillReason("hung", "hung: 30 s"), killed=1), "hung", "SIGKILL: hung: 30 s"),
        (told(KILLED, KillReason("ordered", "by order")), "ordered", "killed by SIGKILL: by order"),
        (told(KILLED, step="busy: bash"), "signal", "killed by SIGKILL (while: busy: bash)"),
        (told(ProcessExit(code=0), step="busy: bash", tail=("hello",)), "exit", "exit code 0"),
    ],
)
def test_each_exit_has_its_kind_and_text(cause: ExitCause, kind: str, text: str) -> None:
    assert cause.kind == kind
    assert text in cause.text


def test_clean_exit_has_no_stderr() -> None:
    assert told(ProcessExit(code=0), tail=("hello",)).stderr == ""
    assert told(ProcessExit(code=2), tail=("a", "b")).stderr == "a\nb"


def test_tail_has_new_lines_without_secrets(tmp_path: Path) -> None:
    log = tmp_path / "ada.log"
    assert (size_of(log), tail_of(log, 0)) == (0, [])
    log.write_text("an earlier life\n")
    offset = size_of(log)
    with open(log, "a") as file:
        file.write("key sk-ant-REDACTED\n\nlast\n")
    lines = tail_of(log, offset)
    assert lines[-1] == "last"
    assert "sk-ant" not in "".join(lines)
    assert "earlier" not in "".join(lines)


def test_a_log_that_was_moved_aside_is_read_from_its_beginning(tmp_path: Path) -> None:
    log = tmp_path / "ada.log"
    log.write_text("new\n")
    assert tail_of(log, 10_000) == ["new"]


def test_a_long_log_is_cut_to_its_end(tmp_path: Path) -> None:
    log = tmp_path / "ada.log"
    log.write_text("".join(f"line {number}\n" for number in range(50_000)))
    lines = tail_of(log, 0)
    assert len(lines) == TAIL_LINES
    assert lines[-1] == "line 49999"


def test_the_kernels_counters_can_be_read_or_count_nothing() -> None:
    assert oom_kills() >= 0

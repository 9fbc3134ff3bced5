"""The watchdog: it bites after the last deadline, and never before the first."""

import os

from transport.watchdog import LOOK_MS, Watchdog, pack_deadline, steady_seconds


def test_watchdog_kills_after_the_last_deadline_and_ends_with_its_pipe() -> None:
    bitten: list[bool] = []
    readable, writable = os.pipe()
    dog = Watchdog(readable, os.getppid(), lambda: bitten.append(True))
    now = steady_seconds()
    assert dog.look(False)
    deadlines = pack_deadline(now - 1) + pack_deadline(now + 60)
    for part in (deadlines[:3], deadlines[3:]):
        os.write(writable, part)
        assert dog.look(True) is True
    assert not bitten
    assert dog.left_ms() == LOOK_MS
    os.write(writable, pack_deadline(now + 0.1))
    assert dog.look(True)
    assert dog.left_ms() <= 100
    os.write(writable, pack_deadline(now - 1))
    assert not dog.look(True)
    assert bitten == [True]
    os.close(writable)
    assert not Watchdog(readable, os.getppid(), bitten.clear).look(True)
    assert bitten == [True]
    os.close(readable)

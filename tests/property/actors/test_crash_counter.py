"""The guilty message is identified, in any batches and with any kills from outside."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from actors.runtime.crash_counter import LIMIT, CrashCounter

MESSAGES = 8
ids = st.integers(0, MESSAGES - 1)


def id_of(number: int) -> str:
    return f"{number + 1:032x}"


@given(st.sets(ids, max_size=3), st.integers(1, MESSAGES), st.lists(ids, max_size=12))
def test_only_guilty_messages_are_quarantined_after_three_crashes(
    guilty: set[int], batch: int, kills: list[int]
) -> None:
    """Each incarnation takes batches in order; a kill hits the first batch with its message."""
    poison = {id_of(number) for number in guilty}
    waiting = [id_of(number) for number in range(MESSAGES)]
    struck = [id_of(number) for number in kills]
    aside: list[str] = []
    deaths, last_end = 0, ""
    with tempfile.TemporaryDirectory() as folder:
        while waiting:
            attempts = CrashCounter(Path(folder), "one", 1, last_end)
            last_end = ""
            while waiting:
                for id in [id for id in waiting if attempts.is_poison(id)]:
                    aside.append(id)
                    attempts.forget(id)
                    waiting.remove(id)
                taken = waiting[: attempts.together(waiting[:batch])]
                for id in taken:
                    attempts.begin(id)
                if struck and struck[0] in taken:
                    struck.pop(0)
                    break
                if poison & set(taken):
                    deaths, last_end = deaths + 1, "boom"
                    break
                for id in taken:
                    attempts.done(id)
                    waiting.remove(id)
            attempts.close()
    assert set(aside) == poison
    assert deaths <= LIMIT * len(poison)

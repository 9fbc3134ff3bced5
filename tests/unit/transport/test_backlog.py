"""A backlog drops the oldest expendable frame, and nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from transport.backlog import MOST_KEPT_BYTES, MOST_KEPT_FRAMES, Backlog


def drain(backlog: Backlog) -> list[bytes]:
    """Take everything out."""
    found = []
    while backlog:
        first = backlog.first()
        assert backlog.pop().blob == first
        found.append(first)
    return found


def test_frames_leave_in_order() -> None:
    backlog = Backlog()
    for blob in (b"a", b"b"):
        backlog.push(blob, True)
    assert drain(backlog) == [b"a", b"b"]


def test_oldest_expendable_frames_are_dropped_first() -> None:
    backlog = Backlog(max_frames=3)
    for blob, is_expendable in ((b"a", False), (b"b", True), (b"c", True), (b"d", True)):
        backlog.push(blob, is_expendable)
    assert backlog.dropped == 1
    assert drain(backlog) == [b"a", b"c", b"d"]


def test_bytes_are_bounded_and_durable_frames_are_kept() -> None:
    backlog = Backlog(max_bytes=4)
    backlog.push(b"aaaa", False)
    backlog.push(b"bb", False)
    backlog.push(b"c", True)
    assert drain(backlog) == [b"aaaa", b"bb"]
    assert backlog.dropped == 1
    backlog.push(b"dddd", True)
    backlog.clear()
    assert not backlog


FRAMES = st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.booleans()), max_size=60)


@given(FRAMES, st.integers(1, 8), st.integers(1, 12))
def test_remaining_frames_are_the_youngest_in_order(
    frames: list[tuple[int, bool, bool]], most: int, most_bytes: int
) -> None:
    """A plain list that is searched for the oldest expendable frame does the same."""
    backlog, plain = Backlog(most, most_bytes), list[tuple[bytes, bool]]()
    for number, (size, is_expendable, is_read) in enumerate(frames):
        blob = bytes([number]) * size
        backlog.push(blob, is_expendable)
        plain.append((blob, is_expendable))
        while len(plain) > most or sum(len(one) for one, _ in plain) > most_bytes:
            oldest = next((at for at, one in enumerate(plain) if one[1]), None)
            if oldest is None:
                break
            del plain[oldest]
        if is_read and plain:
            assert tuple(backlog.pop()) == plain.pop(0)
        assert len(backlog) == len(plain)
    assert drain(backlog) == [blob for blob, _ in plain]


def test_overfull_backlog_is_hopeless() -> None:
    backlog = Backlog()
    for _ in range(MOST_KEPT_FRAMES):
        backlog.push(b"x", False)
        backlog.push(b"x", True)
    assert not backlog.is_hopeless
    backlog.push(b"x", False)
    assert backlog.is_hopeless
    backlog.clear()
    assert not backlog.is_hopeless
    large = bytes(MOST_KEPT_BYTES // 2 + 1)
    backlog.push(large, False)
    assert not backlog.is_hopeless
    backlog.push(large, False)
    assert backlog.is_hopeless

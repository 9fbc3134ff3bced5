"""A backlog drops the oldest expendable frame, and nothing else."""

from transport.backlog import Backlog


def drain(backlog: Backlog) -> list[bytes]:
    """Take everything out."""
    found = []
    while backlog:
        first = backlog.first()
        assert backlog.pop().blob == first
        found.append(first)
    return found


def test_frames_come_out_as_they_went_in() -> None:
    backlog = Backlog()
    for blob in (b"a", b"b"):
        backlog.push(blob, True)
    assert drain(backlog) == [b"a", b"b"]


def test_the_oldest_expendable_frames_go_first() -> None:
    backlog = Backlog(max_frames=3)
    for blob, is_expendable in ((b"a", False), (b"b", True), (b"c", True), (b"d", True)):
        backlog.push(blob, is_expendable)
    assert backlog.dropped == 1
    assert drain(backlog) == [b"a", b"c", b"d"]


def test_bytes_are_bounded_too_and_what_matters_is_kept_beyond() -> None:
    backlog = Backlog(max_bytes=4)
    backlog.push(b"aaaa", False)
    backlog.push(b"bb", False)
    backlog.push(b"c", True)
    assert drain(backlog) == [b"aaaa", b"bb"]
    assert backlog.dropped == 1
    backlog.push(b"dddd", True)
    backlog.clear()
    assert not backlog

"""Retention: which full segments of a log have outlived the settings; pure."""

from collections.abc import Callable, Sequence

from agiraph.storage.segments import Segment

DAY_SECONDS = 86_400.0


def outlived(
    segments: Sequence[Segment],
    newest_of: Callable[[Segment], float],
    now: float,
    days: float | None,
    most_bytes: int | None,
) -> list[Segment]:
    """Return the segments to delete, the oldest of a log, oldest first.

    That is those whose newest record (`newest_of`, a Unix time) is older than `days`, and those
    that make all `segments` together larger than `most_bytes`. The newest segment is kept: the
    numbers of an empty active file follow from it.
    """
    held = sum(segment.size for segment in segments)
    doomed: list[Segment] = []
    for segment in segments[:-1]:
        is_too_much = most_bytes is not None and held > most_bytes
        is_too_old = days is not None and now - newest_of(segment) > days * DAY_SECONDS
        if not (is_too_much or is_too_old):
            break
        doomed.append(segment)
        held -= segment.size
    return doomed

"""A backlog: frames that a full socket did not accept, bounded; old expendable ones are dropped."""

from collections import deque
from typing import NamedTuple

MAX_FRAMES = 2_000
MAX_BYTES = 64 * 1024 * 1024
MOST_KEPT_FRAMES = 10_000
MOST_KEPT_BYTES = 4 * MAX_BYTES


class QueuedFrame(NamedTuple):
    """A frame that waits for room; if expendable, no peer waits for it, and it may be dropped."""

    blob: bytes
    is_expendable: bool


class FrameQueue:
    """A queue of (position among all waiting frames, frame), and the sum of their bytes."""

    __slots__ = ("frames", "size")

    def __init__(self) -> None:
        self.frames: deque[tuple[int, bytes]] = deque()
        self.size = 0

    def put(self, place: int, blob: bytes) -> None:
        """Append a frame with its position."""
        self.frames.append((place, blob))
        self.size += len(blob)

    def take(self) -> bytes:
        """Remove and return the oldest frame."""
        _, blob = self.frames.popleft()
        self.size -= len(blob)
        return blob


class Backlog:
    """A first-in first-out queue of frames that drops the oldest expendable frame when it is full.

    A frame that is not expendable is kept beyond that limit: other limits bound these frames
    (windows of durable messages, questions that wait for an answer). With more of them than any
    reading peer can have, the backlog `is_hopeless`. Expendable frames have a separate queue, so
    that dropping one has a constant cost; frames leave in order.
    """

    def __init__(self, max_frames: int = MAX_FRAMES, max_bytes: int = MAX_BYTES) -> None:
        self._max_frames = max_frames
        self._max_bytes = max_bytes
        self._kept = FrameQueue()
        self._expendable = FrameQueue()
        self._place = 0
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._kept.frames) + len(self._expendable.frames)

    @property
    def is_hopeless(self) -> bool:
        """Whether so many non-expendable frames wait that the peer cannot be reading."""
        kept = self._kept
        return len(kept.frames) > MOST_KEPT_FRAMES or kept.size > MOST_KEPT_BYTES

    def push(self, blob: bytes, is_expendable: bool) -> None:
        """Append a frame; drop the oldest expendable ones (perhaps this frame) until all fit."""
        self._place += 1
        expendable = self._expendable
        (expendable if is_expendable else self._kept).put(self._place, blob)
        while expendable.frames and self._is_over():
            expendable.take()
            self.dropped += 1

    def first(self) -> bytes:
        """Return the oldest frame; it stays until `pop`."""
        return self._oldest().frames[0][1]

    def pop(self) -> QueuedFrame:
        """Remove and return the oldest frame."""
        lane = self._oldest()
        return QueuedFrame(lane.take(), lane is self._expendable)

    def clear(self) -> None:
        """Discard all frames."""
        self._kept, self._expendable = FrameQueue(), FrameQueue()

    def _is_over(self) -> bool:
        size = self._kept.size + self._expendable.size
        return len(self) > self._max_frames or size > self._max_bytes

    def _oldest(self) -> FrameQueue:
        kept, expendable = self._kept.frames, self._expendable.frames
        is_kept = not expendable or bool(kept and kept[0][0] < expendable[0][0])
        return self._kept if is_kept else self._expendable

"""A backlog: frames that a full socket did not take, bounded, oldest expendable ones dropped."""

from collections import deque
from typing import NamedTuple

MAX_FRAMES = 2_000
MAX_BYTES = 64 * 1024 * 1024


class Waiting(NamedTuple):
    """A frame that waits for room. Expendable: nobody waits for it, so it may be dropped."""

    blob: bytes
    is_expendable: bool


class Backlog:
    """A first-in first-out queue of frames that drops the oldest expendable one when it is full.

    A frame that is not expendable is kept beyond the bound: those are bounded by what peers have
    asked (windows of durable messages, questions that wait for an answer).
    """

    def __init__(self, max_frames: int = MAX_FRAMES, max_bytes: int = MAX_BYTES) -> None:
        self._max_frames = max_frames
        self._max_bytes = max_bytes
        self._frames: deque[Waiting] = deque()
        self._size = 0
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._frames)

    def push(self, blob: bytes, is_expendable: bool) -> None:
        """Append a frame; drop the oldest expendable ones (perhaps this one) until all fits."""
        self._frames.append(Waiting(blob, is_expendable))
        self._size += len(blob)
        while len(self._frames) > self._max_frames or self._size > self._max_bytes:
            if not self._drop_oldest():
                return

    def first(self) -> bytes:
        """Return the oldest frame; it stays until `pop`."""
        return self._frames[0].blob

    def pop(self) -> Waiting:
        """Take the oldest frame out."""
        frame = self._frames.popleft()
        self._size -= len(frame.blob)
        return frame

    def clear(self) -> None:
        """Forget everything."""
        self._frames.clear()
        self._size = 0

    def _drop_oldest(self) -> bool:
        for index, frame in enumerate(self._frames):
            if frame.is_expendable:
                del self._frames[index]
                self._size -= len(frame.blob)
                self.dropped += 1
                return True
        return False

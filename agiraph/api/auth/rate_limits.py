"""How many calls a second.

Each key has a bucket of calls, filled at its rate. Pure: `now` is passed in. What has not called
for a while is forgotten, so that strangers with ever new addresses fill no memory.
"""

from dataclasses import dataclass

MOST_BUCKETS = 4096


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """So many calls were left at that time."""

    left: float
    at: float


def take(bucket: TokenBucket, now: float, rate: float, burst: float) -> tuple[TokenBucket, float]:
    """Take one call; return the bucket after it and how many seconds to wait (0: it may
    continue)."""
    left = min(burst, bucket.left + max(0.0, now - bucket.at) * rate)
    if left >= 1:
        return TokenBucket(left - 1, now), 0.0
    return TokenBucket(left, now), (1 - left) / rate


class RateLimiter:
    """The buckets of all who call."""

    def __init__(self) -> None:
        self._buckets: dict[str, TokenBucket] = {}

    def wait_of(self, key: str, now: float, rate: float, burst: float) -> float:
        """Take one call of `key`; return the seconds that it has to wait, 0 if it may continue."""
        known = self._buckets.pop(key, None)
        bucket, wait = take(known or TokenBucket(burst, now), now, rate, burst)
        self._buckets[key] = bucket  # the latest stands last
        if len(self._buckets) > MOST_BUCKETS:
            del self._buckets[next(iter(self._buckets))]
        return wait

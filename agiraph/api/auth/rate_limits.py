"""Rate limits for calls, in calls per second.

Each key has a token bucket, refilled at its rate. Pure: `now` is passed in. Keys without recent
calls are dropped, so that calls from ever new addresses cannot fill the memory.
"""

from dataclasses import dataclass

MOST_BUCKETS = 4096


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """The number of calls left at the time `at` (seconds)."""

    left: float
    at: float


def take(bucket: TokenBucket, now: float, rate: float, burst: float) -> tuple[TokenBucket, float]:
    """Take one call from a bucket of at most `burst` calls, refilled by `rate` calls per second.

    Returns the new bucket and the seconds to wait (0: the call may continue).
    """
    left = min(burst, bucket.left + max(0.0, now - bucket.at) * rate)
    if left >= 1:
        return TokenBucket(left - 1, now), 0.0
    return TokenBucket(left, now), (1 - left) / rate


class RateLimiter:
    """The token buckets of all callers."""

    def __init__(self) -> None:
        self._buckets: dict[str, TokenBucket] = {}

    def wait_of(self, key: str, now: float, rate: float, burst: float) -> float:
        """Count one call of the caller `key`; return the seconds it has to wait, 0 for none."""
        known = self._buckets.pop(key, None)
        bucket, wait = take(known or TokenBucket(burst, now), now, rate, burst)
        self._buckets[key] = bucket  # the most recent key comes last
        if len(self._buckets) > MOST_BUCKETS:
            del self._buckets[next(iter(self._buckets))]
        return wait

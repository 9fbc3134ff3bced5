"""When a failed call is tried again: exponential back-off with jitter, the provider's wish first.

Pure: it is handed the attempt and a random number, and returns how long to wait, or None.
"""

from dataclasses import dataclass

from agiraph.core.config import BrokerConfig
from agiraph.llm.base import ProviderError


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently a call is tried; `longest_wish` bounds a `retry-after`."""

    attempts: int
    first_delay_seconds: float
    max_delay_seconds: float
    longest_wish_seconds: float

    @classmethod
    def of(cls, config: BrokerConfig) -> "RetryPolicy":
        """Return the policy that the settings describe."""
        return cls(
            attempts=config.attempts,
            first_delay_seconds=config.first_delay_seconds,
            max_delay_seconds=config.max_delay_seconds,
            longest_wish_seconds=config.timeout_seconds,
        )

    def wait_after(self, error: ProviderError, attempt: int, chance: float) -> float | None:
        """Return the seconds to wait after the `attempt`-th failure (from 1), None to give up.

        `chance` is a random number in [0, 1). Without a wish of the provider the wait is between
        half and all of the doubled delay, so that many callers do not come back at once. A wish is
        kept (with up to a tenth more), unless it is longer than a call may last at all.
        """
        if not error.is_retryable or attempt >= self.attempts:
            return None
        if error.retry_after is not None:
            wish = max(0.0, error.retry_after)
            return wish * (1 + chance / 10) if wish <= self.longest_wish_seconds else None
        # 2.0 ** 1024 overflows; no delay needs more doublings than 64.
        ceiling = self.first_delay_seconds * 2.0 ** min(attempt - 1, 64)
        return min(ceiling, self.max_delay_seconds) * (0.5 + chance / 2)

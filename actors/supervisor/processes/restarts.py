"""The consequence of a child's exit: restart it (and when), leave it, or give it up. Pure.

OTP's rules: a permanent child is always restarted, a transient child unless it exited with 0, a
temporary child never. More than `intensity` restarts within `period_seconds` give it up. A child
that never became ready counts against `start_attempts` instead.

Some exits count against nothing, because the child did not cause them: exits by order or by a
signal from outside (the child is restarted at once), and exits because there was no router (exit
76) or no room on the disk (exit 74). Repeated crashes over one message count once: the message is
quarantined after a few of them, which ends them.

A service is never given up. Each fault of its own that follows the previous fault within
`period_seconds` doubles the pause before its next start, up to `max_backoff_seconds`; a service
that has lived for `period_seconds` is again restarted at once.
"""

import math
import signal
from dataclasses import dataclass, replace
from typing import Literal

EXIT_BAD_CONFIG = 64
EXIT_NO_SPACE = 74
EXIT_NO_ROUTER = 76
EXIT_PARKED = 77
JITTER = 0.2
LONGEST_WAIT_FOR_ROOM = 2.0

RestartKind = Literal["permanent", "transient", "temporary"]


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """How often a child may be restarted. An `endless` child is never given up."""

    restart: RestartKind
    intensity: int
    period_seconds: float
    first_backoff_seconds: float = 0.2
    max_backoff_seconds: float = 30.0
    start_attempts: int = 3
    endless: bool = False


@dataclass(frozen=True, slots=True)
class RestartHistory:
    """The times of a child's restarts, and the number of its failed starts.

    `faults` counts the exits of an endless child by its own fault that followed each other closely;
    `back_at` is the time of the restart after the last of them, `killed_at` the time of the last
    kill from outside.
    """

    restarts: tuple[float, ...] = ()
    start_failures: int = 0
    router_misses: int = 0
    faults: int = 0
    back_at: float = 0.0
    killed_at: float = -math.inf


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """The exit of a process: a code or a signal's number, and a hint: its last line on stderr.

    `text` is the whole cause in words, once all the evidence is read; `is_from_outside`: another
    process ended it; `is_again`: it died over a message over which it died before.
    """

    code: int | None = None
    signal: int | None = None
    hint: str = ""
    text: str = ""
    is_from_outside: bool = False
    is_again: bool = False

    @property
    def is_clean(self) -> bool:
        """Whether the process exited by itself with code 0."""
        return self.code == 0

    def describe(self) -> str:
        """Return the cause of the exit in words."""
        if self.text:
            return self.text
        if self.code is None and self.signal is None:
            return self.hint or "ended unseen"
        cause = f"exit code {self.code}" if self.signal is None else _signal_words(self.signal)
        if self.code == EXIT_NO_SPACE:
            return "no space is left on the disk of the home"  # so its stderr may be cut off
        return f"{cause}: {self.hint}" if self.hint else cause


@dataclass(frozen=True, slots=True)
class Restart:
    """The verdict to restart the child after `delay_seconds`, with the new `history`."""

    delay_seconds: float
    history: RestartHistory


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The verdict to give the child up; `cause` is the reason."""

    cause: str


@dataclass(frozen=True, slots=True)
class EndedInOrder:
    """The verdict that the child has ended as intended."""


@dataclass(frozen=True, slots=True)
class Parked:
    """The verdict that the child has parked: a message to it starts it again."""


Verdict = Restart | GiveUp | EndedInOrder | Parked


def decide(
    policy: RestartPolicy,
    history: RestartHistory,
    ended: ProcessExit,
    was_ready: bool,
    now: float,
    chance: float,
) -> Verdict:
    """Return the reaction to an exit at `now`; `chance` in 0..1 spreads the delays."""
    if ended.code == EXIT_PARKED and was_ready:
        return Parked()
    if policy.restart == "temporary" or (policy.restart == "transient" and ended.is_clean):
        return EndedInOrder()
    if ended.is_from_outside:
        return _after_kill(policy, history, now)
    if ended.code == EXIT_NO_SPACE:
        return Restart(LONGEST_WAIT_FOR_ROOM * (1 - JITTER * chance), history)
    if ended.code == EXIT_NO_ROUTER:
        misses = history.router_misses + 1
        return Restart(_delay(policy, misses, chance), replace(history, router_misses=misses))
    if policy.endless:
        return _after_fault(policy, history, now, chance)
    if ended.code == EXIT_BAD_CONFIG:
        return GiveUp(f"it cannot {'continue' if was_ready else 'start'} ({ended.describe()})")
    if not was_ready:
        return _after_failed_start(policy, history, ended, chance)
    return _after_crash(policy, history, ended, now, chance)


def _after_kill(policy: RestartPolicy, history: RestartHistory, now: float) -> Verdict:
    """Return a restart at once, or after a pause if the last kill was shortly before.

    So a kill after each start makes no busy loop, and a kill every half second starves no child.
    """
    moment = min(policy.first_backoff_seconds, policy.max_backoff_seconds)
    delay = moment if now - history.killed_at < moment else 0.0
    return Restart(delay, replace(history, killed_at=now))


def _after_fault(
    policy: RestartPolicy, history: RestartHistory, now: float, chance: float
) -> Verdict:
    """Return the restart of an endless child, after a pause that grows with close faults."""
    was_calm = now >= history.back_at + policy.period_seconds
    before = 0 if was_calm else history.faults
    delay = _delay(policy, before, chance)
    return Restart(delay, RestartHistory(faults=before + 1, back_at=now + delay))


def _after_failed_start(
    policy: RestartPolicy, history: RestartHistory, ended: ProcessExit, chance: float
) -> Verdict:
    failures = history.start_failures + 1
    if failures >= policy.start_attempts:
        return GiveUp(f"it did not start {failures} times ({ended.describe()})")
    return Restart(_delay(policy, failures, chance), replace(history, start_failures=failures))


def _after_crash(
    policy: RestartPolicy, history: RestartHistory, ended: ProcessExit, now: float, chance: float
) -> Verdict:
    recent = tuple(at for at in history.restarts if at > now - policy.period_seconds)
    if len(recent) >= policy.intensity and not ended.is_again:
        return GiveUp(
            f"it ended {len(recent) + 1} times within {policy.period_seconds:g} s "
            f"(last: {ended.describe()})"
        )
    known = recent if ended.is_again else (*recent, now)
    return Restart(_delay(policy, len(recent), chance), RestartHistory(restarts=known))


def _delay(policy: RestartPolicy, failures: int, chance: float) -> float:
    """Return 0 for the first failure's restart, then a doubling back-off, spread by +-20 %."""
    if failures == 0:
        return 0.0
    # 2**60 is far beyond any maximum; larger exponents would overflow a float
    backoff = policy.first_backoff_seconds * 2.0 ** min(failures - 1, 60)
    spread = 1 - JITTER + 2 * JITTER * chance
    return min(min(backoff, policy.max_backoff_seconds) * spread, policy.max_backoff_seconds)


def _signal_words(number: int) -> str:
    try:
        return f"killed by {signal.Signals(number).name}"
    except ValueError:
        return f"killed by signal {number}"

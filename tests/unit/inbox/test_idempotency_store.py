"""The book of idempotency keys: begun once, answered once, the same after every opening."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agiraph.core.errors import Corrupt
from agiraph.http.api.base import KEY_REUSED
from agiraph.http.errors import ApiError
from agiraph.inbox.idempotency_store import KEPT_SECONDS, IdempotencyStore

Opened = Callable[..., IdempotencyStore]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "repeats.jsonl"


@pytest.fixture
def opened(path: Path) -> Iterator[Opened]:
    """Yield a function that opens the keys; again, as after a restart."""
    stores: list[IdempotencyStore] = []

    def open_again(now: float, **more: int) -> IdempotencyStore:
        while stores:
            stores.pop().close()
        stores.append(IdempotencyStore(path, now, **more))
        return stores[0]

    yield open_again
    while stores:
        stores.pop().close()


def test_an_answer_is_kept_over_a_restart(opened: Opened) -> None:
    keys = opened(1.0)
    assert keys.begin("k", "print", 1.0).body is None
    keys.answered("k", 201, "application/json", '{"id":"a"}')
    again = opened(2.0)
    kept = again.begin("k", "print", 2.0)
    assert (kept.status, kept.body, kept.at) == (201, '{"id":"a"}', 1.0)


def test_interrupted_call_keeps_its_first_time(opened: Opened) -> None:
    keys = opened(1.0)
    keys.begin("k", "print", 1.0)
    again = opened(5.0)
    assert "k" in again
    kept = again.begin("k", "print", 5.0)
    assert (kept.at, kept.body) == (1.0, None)


def test_a_key_with_another_call_is_refused(opened: Opened) -> None:
    keys = opened(1.0)
    keys.begin("k", "one", 1.0)
    with pytest.raises(ApiError, match="came before with another request") as error:
        keys.begin("k", "two", 1.0)
    assert (error.value.status, error.value.type) == (422, KEY_REUSED)


def test_old_keys_are_dropped_when_the_store_is_opened(opened: Opened, path: Path) -> None:
    keys = opened(1.0)
    keys.begin("old", "print", 1.0)
    keys.answered("old", 200, "application/json", "{}")
    keys.begin("new", "print", 1000.0)
    again = opened(2.0 + KEPT_SECONDS)
    assert "old" not in again
    assert "new" in again
    assert "old" not in path.read_text()
    assert path.stat().st_mode & 0o077 == 0


def test_older_half_of_too_many_keys_is_dropped(opened: Opened) -> None:
    keys = opened(1.0, most=4)
    for number in range(6):
        keys.begin(f"k{number}", "print", float(number))
        keys.answered(f"k{number}", 200, "application/json", "{}")
    assert [number for number in range(6) if f"k{number}" in keys] == [2, 3, 4, 5]
    assert keys.begin("k5", "print", 9.0).body == "{}"


def test_malformed_record_is_reported_as_damage(opened: Opened, path: Path) -> None:
    path.write_text('{"type":"answered","key":"k"}\n')
    with pytest.raises(Corrupt, match="record 1"):
        opened(1.0)

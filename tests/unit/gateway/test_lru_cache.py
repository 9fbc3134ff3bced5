"""What many ask for is made once, for as long as what it is made from is the same."""

from actors.gateway.lru_cache import LruCache


def test_a_thing_is_made_once_and_again_when_what_it_is_made_from_has_changed() -> None:
    latest: LruCache[object] = LruCache()
    first = latest.get("key", (1, "a"), object)
    assert latest.get("key", (1, "a"), object) is first
    assert latest.get("other", (1, "a"), object) is not first
    second = latest.get("key", (2, "a"), object)
    assert second is not first
    assert latest.get("key", (2, "a"), object) is second
    assert latest.get("key", (1, "a"), object) is not first, "only the latest is kept"


def test_the_oldest_is_forgotten_first() -> None:
    latest: LruCache[object] = LruCache(2)
    first, second = latest.get(1, 0, object), latest.get(2, 0, object)
    latest.get(3, 0, object)
    assert latest.get(2, 0, object) is second
    assert latest.get(1, 0, object) is not first

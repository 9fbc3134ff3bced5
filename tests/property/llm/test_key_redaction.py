"""The key of a service appears in no forwarded event, for any split of the stream."""

import base64
import itertools
import json
import re
from collections.abc import Callable
from urllib.parse import quote, unquote

from hypothesis import given
from hypothesis import strategies as st

from agiraph.core.redaction import map_texts
from agiraph.core.turns import ModelResponse, ToolCall
from agiraph.llm.key_redaction import MARK, forms, response_without_key, without_key
from agiraph.llm.wire.key_redactor import (
    HELD_CHARACTERS,
    HELD_EVENTS,
    KeyRedactor,
    without_key_in_json,
)
from agiraph.llm.wire.sse import SseEvent, SseSplitter, encode_event

KEY = "sk-1sk-1/very secret\\0123456789"
KEYS = st.sampled_from([KEY, "sk-0123456789", "aaaaaaaaaaaaaaaaaaaaaaaa", "abababababababababab1"])
SMALL = st.text(alphabet='sk-1ab/ é\\"', max_size=12)


def redacted(key: str, events: list[SseEvent]) -> list[SseEvent]:
    redactor = KeyRedactor(key)
    found = [one for event in events for one in redactor.feed(event)]
    return [*found, *redactor.end()]


def pieces_of(text: str, cuts: list[int]) -> list[str]:
    bounds = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(bounds)]


def streamed(pieces: list[str]) -> list[SseEvent]:
    raw = b"".join(encode_event({"id": "x", "delta": {"text": one}}) for one in pieces)
    return list(SseSplitter().feed(raw + b": ping\n\ndata: [DONE]\n\n"))


def text_of(events: list[SseEvent]) -> str:
    return "".join(event.data["delta"]["text"] for event in events if event.data)


@given(KEYS, SMALL, SMALL, st.lists(st.integers(0, 100), max_size=6))
def test_key_in_streamed_text_is_replaced_for_any_split(
    key: str, before: str, after: str, cuts: list[int]
) -> None:
    text = before + key + after
    got = redacted(key, streamed(pieces_of(text, cuts)))
    assert key not in text_of(got)
    assert MARK in text_of(got)
    shown = text_of(got).split(MARK, 1)[0]
    assert (before + key[: HELD_CHARACTERS - 1]).startswith(shown)
    assert text_of(got).endswith(text.rpartition(key)[2])
    read_again = [one for event in got for one in SseSplitter().feed(event.raw)]
    assert text_of(read_again) == text_of(got)
    assert got[-1].is_end


@given(KEYS, SMALL, st.lists(st.integers(0, 100), max_size=6))
def test_text_without_the_key_is_unchanged(key: str, text: str, cuts: list[int]) -> None:
    events = streamed(pieces_of(text, cuts))
    raw = [event.raw for event in events]
    assert [event.raw for event in redacted(key, events)] == raw


JSON = st.recursive(
    st.none() | st.integers() | SMALL | st.just(KEY),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SMALL, inner, max_size=3),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(SMALL | st.just(KEY), JSON, max_size=4), max_size=12))
def test_no_event_of_any_shape_contains_the_key(shapes: list[dict[str, object]]) -> None:
    events = list(SseSplitter().feed(b"".join(map(encode_event, shapes))))
    got = redacted(KEY, events)
    assert len(got) == len(events)
    for event in got:
        assert not any(form.encode() in event.raw for form in forms(KEY))
        assert KEY not in json.dumps(event.data)
        assert not any(KEY in text for text in texts_in(event.data))


def texts_in(value: object) -> list[str]:
    found: list[str] = []

    def note(text: str) -> str:
        found.append(text)
        return text

    map_texts(value, note)
    return found


def test_a_key_that_continues_after_many_other_events_is_not_completed() -> None:
    other = encode_event({"type": "ping"}) * 20
    raw = encode_event({"t": KEY[:9]}) + other + encode_event({"t": KEY[9:]})
    got = redacted(KEY, list(SseSplitter().feed(raw)))
    assert KEY[9:] not in str([event.data for event in got])


def ways_to_write(letter: str) -> list[str]:
    """Return the spellings of one character of a key."""
    code, byte = f"{ord(letter):04x}", f"{ord(letter):02x}"
    ways = [letter, f"\\u{code}", f"\\u{code.upper()}", f"\\\\u{code}", f"%{byte}"]
    ways += [f"%{byte.upper()}", f"%25{byte}"]
    return [*ways, "\\/"] if letter == "/" else ways


@st.composite
def spelled_keys(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a key, and a spelling of it."""
    key = draw(st.sampled_from([KEY.replace("\\", "-"), "sk-0123456789", "AIzaSy+/=.0123456789"]))
    if draw(st.booleans()):
        encode = draw(st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]))
        before, after = draw(st.tuples(*[st.text("ab:", max_size=4)] * 2))
        return key, encode((before + key + after).encode()).decode()
    ways = draw(st.sampled_from([[one] for one in range(7)]) | st.just(list(range(7))))
    return key, "".join(
        ways_to_write(one)[draw(st.sampled_from(ways))]
        if len(ways) > 1
        else ways_to_write(one)[ways[0]]
        for one in key
    )


def readings(text: str) -> list[str]:
    """Return the decoded forms of a text."""
    plain = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    plain = re.sub(r"\\+/", "/", plain)
    found = [text, unquote(unquote(plain))]
    for run in re.findall(r"[A-Za-z0-9+/_-]{8,}", text):
        standard = run.replace("-", "+").replace("_", "/")
        for start in range(4):
            part = standard[start:]
            part = part[: len(part) // 4 * 4]
            found.append(base64.b64decode(part).decode("latin-1"))
    return found


@given(spelled_keys(), SMALL, SMALL, st.integers(1, 9), st.integers(0, 3))
def test_a_streamed_key_is_replaced_in_every_spelling_and_in_pieces_of_any_size(
    spelled: tuple[str, str], before: str, after: str, size: int, others: int
) -> None:
    key, spelling = spelled
    before, after = f"{before} ", f" {after}"
    text = before + spelling + after
    other = encode_event({"type": "ping"}) + b": comment\n\n" + encode_event({"more": "r"})
    events = [
        one
        for start in range(0, len(text), size)
        for one in SseSplitter().feed(
            encode_event({"delta": {"text": text[start : start + size]}}) + other * others
        )
    ]
    got = redacted(key, events)
    assert len(got) == len(events)
    read_again = [one for event in got for one in SseSplitter().feed(event.raw)]
    assert [one.data for one in read_again] == [one.data for one in got]
    shown = "".join((event.data or {}).get("delta", {}).get("text", "") for event in got)
    assert not any(key in one for one in readings(shown))
    assert MARK in shown
    assert shown.startswith(before)
    assert shown.endswith(after)
    assert [event.raw for event in got if b"delta" not in event.raw] == [
        event.raw for event in events if b"delta" not in event.raw
    ]
    whole = without_key_in_json(json.dumps({"content": text}).encode(), key)
    assert not any(key in one for one in readings(json.loads(whole)["content"]))
    assert not any(key in one for one in readings(whole.decode()))


def test_beginning_of_the_key_delays_few_other_events() -> None:
    begun = encode_event({"text": f"keys look like {KEY[:9]}"})
    others = encode_event({"thinking": "more"}) * 2 * HELD_EVENTS
    redactor = KeyRedactor(KEY)
    got = [one for event in SseSplitter().feed(begun + others) for one in redactor.feed(event)]
    assert len(got) == 2 * HELD_EVENTS + 1
    assert got[0].data == {"text": f"keys look like {MARK}"}


@given(st.integers(len(KEY) // 2 + 1, len(KEY) - 1), st.integers(1, 9))
def test_half_of_a_key_is_replaced_where_an_answer_ends(length: int, size: int) -> None:
    pieces = [KEY[start : min(length, start + size)] for start in range(0, length, size)]
    shown = text_of(redacted(KEY, streamed(pieces)))
    assert MARK in shown
    assert len(shown) < len(MARK) + HELD_CHARACTERS


@given(KEYS, SMALL, SMALL)
def test_errors_contain_no_form_of_the_key(key: str, before: str, after: str) -> None:
    encoded = base64.b64encode(key.encode()).decode().rstrip("=")
    for form in (key, quote(key, safe=""), json.dumps(key), key[: len(key) * 2 // 3]):
        said = without_key(before + form + after, key)
        assert key[: len(key) * 2 // 3] not in said
        assert form not in said
    assert encoded not in without_key(encoded, key)


@given(
    st.sampled_from(["sk-Proj-ABCdef0123456789", "AIzaSyABCDEF/é0123456789"]),
    st.sampled_from([str.lower, str.upper, str.swapcase]),
    SMALL,
    st.integers(1, 9),
    st.sampled_from(["{}", "\\u{:04x}", "%{:02x}"]),
)
def test_key_with_a_changed_case_is_replaced(
    key: str, change: Callable[[str], str], before: str, size: int, spelling: str
) -> None:
    changed = "".join(
        spelling.format(one if spelling == "{}" else ord(one)) if one.isascii() else one
        for one in change(key.replace("é", "")) + "é" * key.count("é")
    )
    key = key.replace("é", "") + "é" * key.count("é")
    before = f"İ{before}"
    text = f"{before} {changed} É"
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    shown = text_of(redacted(key, streamed(pieces)))
    assert shown.endswith(f"{MARK} É")
    assert len(shown) < len(f"{before} {MARK} É") + HELD_CHARACTERS * len(changed) // len(key)
    assert without_key(text, key) == f"{before} {MARK} É"
    assert without_key(change(key[: len(key) * 2 // 3]), key) == MARK


@given(JSON)
def test_an_answer_in_one_piece_contains_no_key(value: object) -> None:
    data = json.dumps(value).encode()
    got = without_key_in_json(data, KEY)
    assert not any(form.encode() in got for form in forms(KEY))
    json.loads(got)
    assert without_key_in_json(b"no JSON: " + KEY.encode(), KEY) == b"no JSON: [key]"


def test_placeholder_key_is_not_redacted() -> None:
    for key in ("", "x", "none", "ollama", "lm-studio", "not-needed"):
        assert forms(key) == ()
        [event] = redacted(key, streamed([f"{key} is a word"]))[:1]
        assert text_of([event]) == f"{key} is a word"
    assert without_key("x is a word", "x") == "x is a word"


@given(KEYS, SMALL, SMALL)
def test_a_whole_answer_has_no_key_that_escapes_or_short_pieces_have_hidden(
    key: str, before: str, after: str
) -> None:
    text = before + key + after
    escaped = json.loads('"' + "".join(f"\\u{ord(letter):04x}" for letter in text) + '"')
    call = ToolCall(id="c", name="write_file", arguments={"a": [{"content": escaped}]})
    answer = ModelResponse(text=text, tool_calls=(call,), provider_data={"parts": [text]})
    safe = response_without_key(answer, key)
    assert key not in json.dumps(safe.model_dump(mode="json"), ensure_ascii=False)
    assert MARK in str(safe.tool_calls[0].arguments)
    assert response_without_key(answer, "") == answer

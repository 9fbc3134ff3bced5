"""Logs contain events, and no secret."""

import io
import json
import logging

import pytest

from agiraph.core.redaction import BLOT, redact
from agiraph.logs.log import OURS, logger, set_up_logging


@pytest.fixture(autouse=True)
def _restore_logging():  # type: ignore[no-untyped-def]
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger(OURS).setLevel(logging.NOTSET)


@pytest.mark.parametrize(
    "text",
    [
        "sk-ant-api03-abcdefgh12345678",
        "Bearer abcdefghijkl.mnop",
        "ghp_0123456789abcdef",
        "agt_0123456789abc",
    ],
)
def test_keys_are_redacted_anywhere_in_a_text(text: str) -> None:
    assert redact({"a": [f"before {text} after"]}) == {"a": [f"before {BLOT} after"]}


def test_fields_named_like_secrets_are_redacted() -> None:
    found = redact(
        {
            "api_key": "x",
            "token": "x",
            "ticket": b"x",
            "Authorization": "x",
            "deep": {"password": "x"},
        }
    )
    assert found == {
        "api_key": BLOT,
        "token": BLOT,
        "ticket": BLOT,
        "Authorization": BLOT,
        "deep": {"password": BLOT},
    }


def test_token_counts_are_not_redacted() -> None:
    assert redact({"input_tokens": 5, "max_tokens": 6}) == {"input_tokens": 5, "max_tokens": 6}


def test_json_logs_are_one_object_a_line_without_secrets() -> None:
    out = io.StringIO()
    set_up_logging("info", "json", out)
    logger(address="a/b").info("hello", key="sk-abcdefgh12345678", n=1)
    try:
        raise ValueError("with sk-abcdefgh12345678 inside")
    except ValueError:
        logger().error("broke", exc_info=True)
    logging.getLogger("other").warning("from a library: %s", "sk-abcdefgh12345678")
    logger().debug("too quiet")
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["event"] for line in lines[:2]] == ["hello", "broke"]
    assert lines[0]["address"] == "a/b"
    assert len(lines) == 3
    assert "abcdefgh12345678" not in out.getvalue()
    assert "ValueError" in lines[1]["exception"]


def test_text_log_shows_the_event_and_its_fields() -> None:
    out = io.StringIO()
    set_up_logging("info", "text", out)
    logger().info("hello", child="a/b")
    assert "hello" in out.getvalue()
    assert "child=a/b" in out.getvalue()


def test_unwritable_line_stops_no_process() -> None:
    class FullStream(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError("no space left")

    set_up_logging(stream=FullStream())
    logger().error("lost")


def test_text_stays_on_one_line_a_field_and_ends_with_the_traceback() -> None:
    out = io.StringIO()
    set_up_logging("info", "text", out)
    try:
        raise ValueError("no")
    except ValueError:
        logger(address="a/b").exception("broke", why="two words", lines="1\n2", count=3)
    first, *rest = out.getvalue().splitlines()
    assert first.endswith("address=a/b why='two words' lines='1\\n2' count=3")
    assert "[error    ] broke" in first
    assert rest[-1] == "ValueError: no"

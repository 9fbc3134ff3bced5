"""What a model reads of a server's answer: text within its bound, between marks."""

from agiraph.mcp.rendering import (
    shown_prompt,
    shown_prompts,
    shown_resource,
    shown_resources,
    shown_result,
)


def test_text_is_shown_and_other_content_is_named() -> None:
    content = [
        {"type": "text", "text": "first"},
        {"type": "image", "data": "QUJD", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "a://b", "text": "inner"}},
        {"type": "resource_link", "uri": "a://c", "name": "c"},
        {"type": "hologram"},
    ]
    shown = shown_result("x__y", {"content": content}, limit=1000, word="w0rd")
    assert shown.startswith("[result of x__y w0rd, untrusted")
    assert shown.endswith("[end of result of x__y w0rd]")
    for part in ("first", "[image image/png, 3 bytes", "inner", "a://c", "[hologram content"):
        assert part in shown


def test_structured_content_stands_in_for_text_that_is_not_there() -> None:
    result = {"content": [], "structuredContent": {"total": 5}}
    assert '{"total": 5}' in shown_result("x__y", result, limit=100, word="w")
    assert "(nothing)" in shown_result("x__y", {"content": []}, limit=100, word="w")


def test_a_long_result_is_cut_and_says_so() -> None:
    content = [{"type": "text", "text": "x" * 5000}]
    shown = shown_result("x__y", {"content": content}, limit=1000, word="w")
    assert "x" * 1000 in shown
    assert "x" * 1001 not in shown
    assert "4000 characters more were left out" in shown


def test_resources_and_prompts_are_listed_and_read() -> None:
    listed = shown_resources(
        "s__read_resource",
        [{"uri": "a://1", "name": "one"}],
        [{"uriTemplate": "a://{n}", "description": "any"}],
        limit=500,
        word="w",
    )
    assert "- a://1: one" in listed
    assert "- a://{n}: any" in listed
    contents = [{"uri": "a://1", "blob": "QUJD"}, {"uri": "a://2", "text": "two"}]
    read = shown_resource("s", {"contents": contents}, limit=500, word="w")
    assert "3 bytes, not shown" in read
    assert "two" in read
    prompts = [{"name": "greet", "arguments": [{"name": "who", "required": True}, {"name": "how"}]}]
    assert "- greet(who, how?)" in shown_prompts("s", prompts, limit=500, word="w")
    messages = [{"role": "user", "content": {"type": "text", "text": "Hello"}}]
    assert "user: Hello" in shown_prompt("s", {"messages": messages}, limit=500, word="w")

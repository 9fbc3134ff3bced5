"""The text of a server's answer for a model: within its limit, between marks."""

from agiraph.mcp.rendering import (
    prompt_list,
    prompt_text,
    quoted,
    resource_list,
    resource_text,
    result_text,
)


def test_text_is_shown_and_other_content_is_named() -> None:
    content = [
        {"type": "text", "text": "first"},
        {"type": "image", "data": "QUJD", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "a://b", "text": "inner"}},
        {"type": "resource_link", "uri": "a://c", "name": "c"},
        {"type": "hologram"},
    ]
    shown = result_text({"content": content})
    for part in ("first", "[image image/png, 3 bytes", "inner", "a://c", "[hologram content"):
        assert part in shown


def test_structured_content_is_shown_if_there_is_no_text() -> None:
    assert result_text({"content": [], "structuredContent": {"total": 5}}) == '{"total": 5}'
    assert result_text({"content": []}) == ""


def test_a_result_is_quoted_as_untrusted_and_cut_at_its_limit() -> None:
    shown = quoted("result of x__y", "x" * 5000, limit=1000, mark="w0rd")
    assert shown.startswith("[result of x__y w0rd, untrusted")
    assert shown.endswith("[end of result of x__y w0rd]")
    assert "x" * 1000 in shown
    assert "x" * 1001 not in shown
    assert "4000 characters more were left out" in shown
    assert "(nothing)" in quoted("result of x__y", " ", limit=100, mark="w")


def test_resources_and_prompts_are_listed_and_read() -> None:
    resources = [{"uri": "a://1", "name": "one"}]
    listed = resource_list(resources, [{"uriTemplate": "a://{n}", "description": "any"}])
    assert listed == "- a://1: one\n- a://{n}: any"
    contents = [{"uri": "a://1", "blob": "QUJD"}, {"uri": "a://2", "text": "two"}]
    read = resource_text({"contents": contents})
    assert "3 bytes, not shown" in read
    assert "two" in read
    prompts = [{"name": "greet", "arguments": [{"name": "who", "required": True}, {"name": "how"}]}]
    assert prompt_list(prompts).startswith("- greet(who, how?)")
    messages = [{"role": "user", "content": {"type": "text", "text": "Hello"}}]
    assert prompt_text({"messages": messages}) == "user: Hello"

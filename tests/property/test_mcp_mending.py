"""Any answer of a server is converted into an answer that the protocol's SDK accepts."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import methods
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from agiraph.mcp.mending import LISTS, MENDERS, mended
from agiraph.mcp.rendering import prompt_text, resource_text, result_text

KEYS = (
    *("tools", "resources", "resourceTemplates", "prompts", "nextCursor", "_meta", "x"),
    *("name", "title", "description", "inputSchema", "outputSchema", "annotations", "uri"),
    *("uriTemplate", "mimeType", "arguments", "required", "content", "structuredContent"),
    *("isError", "contents", "messages", "role", "type", "text", "data", "blob", "resource"),
    *("protocolVersion", "capabilities", "serverInfo", "instructions", "version", "readOnlyHint"),
)
WORDS = ("text", "image", "audio", "resource", "resource_link", "user", "assistant", "object", "")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(WORDS) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=20,
)


def of_method(method: str) -> st.SearchStrategy[Any]:
    """Return odd results of a method, including nearly valid results."""
    if method not in LISTS:
        return values
    kind = LISTS[method]
    entries = st.dictionaries(st.sampled_from(KEYS), values, max_size=4)
    named = st.builds(lambda one, name: {**one, kind.must: name}, entries, values)
    return values | st.fixed_dictionaries({kind.key: st.lists(named | values, max_size=3)})


@pytest.mark.parametrize("method", [*MENDERS, *LISTS])
@given(data=st.data())
def test_repaired_answer_is_accepted_and_can_be_shown(method: str, data: st.DataObject) -> None:
    said = data.draw(of_method(method))
    result = mended(method, said).result
    json.dumps(result)
    for version in HANDSHAKE_PROTOCOL_VERSIONS:
        methods.validate_server_result(method, version, result)
    assert mended(method, result).result == result, "what is mended needs no mending"
    match method:
        case "tools/call":
            assert isinstance(result_text(result), str)
        case "resources/read":
            assert isinstance(resource_text(result), str)
        case "prompts/get":
            assert isinstance(prompt_text(result), str)

"""docs/api.md lists every endpoint with its scope, its meaning and the client's call.

Run as a program this prints the table as it should be there.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fastapi.routing import APIRoute

from agiraph.api.app import GatewayApi
from agiraph.http.client.call import ApiCall
from tests.unit.http.client.test_coverage import FOR_OTHERS, described, routes, verbs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
BEGIN, END = "<!-- endpoints -->\n", "<!-- /endpoints -->\n"


def table() -> str:
    """Return the table of endpoints, one row each, family by family."""
    calls = [(name, described(verb)) for name, verb in verbs().items()]
    known = routes()
    lines = ["| call | scope | what it does | `Client` |", "| --- | --- | --- | --- |"]
    for path, operations in GatewayApi().openapi()["paths"].items():
        for method, about in operations.items():
            route = known[method.upper(), path]
            names = [
                f"`{name}`"
                for name, call in calls
                if call.method == method.upper() and route is _route_of(call, known.values())
            ]
            other = FOR_OTHERS.get((method.upper(), path), "")
            told = ", ".join(sorted(names)) or other
            scope = about["x-scope"]
            lines.append(f"| `{method.upper()} {path}` | {scope} | {about['summary']} | {told} |")
    return "\n".join(lines) + "\n"


def _route_of(call: ApiCall[Any], routes: Iterable[APIRoute]) -> APIRoute | None:
    """Return the route that takes a call: of those with its path the first."""
    takes = (one for one in routes if call.method in (one.methods or ()))
    return next((one for one in takes if one.path_regex.match(call.path)), None)


def test_the_page_lists_every_endpoint() -> None:
    written = PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    assert written == table(), "python -m tests.unit.test_api_page prints it"


def test_every_curl_path_is_a_path_of_the_api() -> None:
    shown = re.findall(r"\$URL(/[^\s'\"?]*)", PAGE.read_text("utf-8"))
    assert len(shown) > 8
    patterns = [route.path_regex for route in routes().values()]
    for path in shown:
        assert path == "/openapi.json" or any(p.match(path) for p in patterns), path


if __name__ == "__main__":
    print(table(), end="")

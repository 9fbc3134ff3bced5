"""Writes the OpenAPI document that the types of the page are generated from: `openapi.py FILE`.

Titles and examples are left out: TypeScript has no use for them. A file that would be the same is
not touched, so that nothing is generated anew.
"""

import json
import sys
from pathlib import Path
from typing import Any

from agiraph.api.app import GatewayApi


def bare(part: Any) -> Any:
    """Return a part of a document without titles and examples."""
    if isinstance(part, list):
        return [bare(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {key: bare(value) for key, value in part.items() if not _is_decoration(key, value)}


def _is_decoration(key: str, value: Any) -> bool:
    return (key == "title" and isinstance(value, str)) or (
        key in ("example", "examples") and not (isinstance(value, dict) and "type" in value)
    )


def main(path: Path) -> None:
    """Write the document to a file, if that has another one."""
    text = json.dumps(bare(GatewayApi().openapi()), indent=1)
    if not path.is_file() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Find every place that opens, creates, moves or lists files without `agiraph.storage.files`.

    python -m tests.openings        part of `make check`; prints each such place, exit code 1

What is in a home may have been put there by a model's command, so only that module, its `walk` and
`copies` touch it. A path that is never in a home says so where it is opened, with the reason:
`# plain: /proc`.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = ("agiraph", "actors", "transport", "cli")
THE_MODULES = tuple(f"agiraph/storage/{name}.py" for name in ("files", "walk", "copies"))
PRAGMA = "# plain: "

METHODS = frozenset(
    [
        "read_text",
        "read_bytes",
        "write_text",
        "write_bytes",
        "mkdir",
        "rmdir",
        "unlink",
        "touch",
        "iterdir",
        "glob",
        "rglob",
        "rename",
        "symlink_to",
        "hardlink_to",
        "chmod",
        "lchmod",
    ]
)
FUNCTIONS = {
    "os": frozenset(
        [
            "open",
            "replace",
            "rename",
            "renames",
            "mkdir",
            "makedirs",
            "unlink",
            "remove",
            "rmdir",
            "walk",
            "fwalk",
            "scandir",
            "listdir",
            "truncate",
            "chmod",
            "link",
            "symlink",
            "utime",
        ]
    ),
    "shutil": frozenset(["copy", "copy2", "copyfile", "copytree", "move", "rmtree"]),
    "sqlite3": frozenset(["connect"]),
    "io": frozenset(["open", "FileIO"]),
}


def openings(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, call) of each plain opening in a module that does not give its reason."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not _opens(node):
            continue
        last = node.end_lineno or node.lineno
        if not any(PRAGMA in line for line in lines[node.lineno - 1 : last]):
            yield node.lineno, ast.unparse(node.func)


def _opens(call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id="open"):
            return True
        case ast.Attribute(value=ast.Name(id=module), attr=name) if module in FUNCTIONS:
            return name in FUNCTIONS[module]
        case ast.Attribute(attr="replace"):  # of a path; that of a string has two arguments
            return len(call.args) == 1 and not call.keywords
        case ast.Attribute(attr="open"):
            return _names_a_mode(call)
        case ast.Attribute(attr=name):
            return name in METHODS
    return False


def _names_a_mode(call: ast.Call) -> bool:
    modes = [arg.value for arg in call.args[:1] if isinstance(arg, ast.Constant)]
    is_mode = any(isinstance(mode, str) and set(mode) <= set("rwaxbt+") for mode in modes)
    return is_mode or any(keyword.arg in ("encoding", "mode") for keyword in call.keywords)


def found() -> list[str]:
    """Return every plain opening of the product as `file:line: call`."""
    return [
        f"{file.relative_to(ROOT)}:{line}: {call}"
        for room in ROOMS
        for file in sorted((ROOT / room).rglob("*.py"))
        if file.relative_to(ROOT).as_posix() not in THE_MODULES
        for line, call in openings(file.read_text(encoding="utf-8"))
    ]


if __name__ == "__main__":
    places = found()
    for place in places:
        print(f"{place} (use agiraph.storage.files, or say why not: {PRAGMA}...)")
    sys.exit(bool(places))

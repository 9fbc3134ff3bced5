"""The shape of the code: short functions, small files and folders, few Protocols."""

import ast
import gc
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.contracts.test_unique_names import FOLDERS, ROOT

LONGEST_FUNCTION = 60
NINE_OF_TEN_FUNCTIONS = 20
LONGEST_FILE = 500
FILES_OF_A_FOLDER = 25
FILES_OF_COMMANDS = {"cli/commands": 30}
"""A folder that has one file for each family of commands."""
PROTOCOLS = 20
PLAIN_PARSER = re.compile(r"\bjson\.loads?\(|from json import|JSONDecoder\(")
PARSING_FILES = {"agiraph/core/json_text.py", "agiraph/core/results.py"}
"""`parse_json`, and a search for JSON objects in a text, which handles deep nesting itself."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Every module of the product by its path."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(paths) > 300, "the folders of the product were not found"
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


@pytest.fixture(scope="module")
def nodes(texts: dict[str, str]) -> list[tuple[str, Definition]]:
    """Every function and class of the product, with its module's path."""
    gc.disable()  # trees are many objects, of which none is garbage
    try:
        trees = {path: ast.parse(text) for path, text in texts.items()}
        return [(path, node) for path, tree in trees.items() for node in definitions(tree)]
    finally:
        gc.enable()


def definitions(tree: ast.AST) -> Iterator[Definition]:
    """Yield all definitions below; expressions, the bulk of a tree, define nothing."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Definition):
            yield node
        if not isinstance(node, ast.expr):
            yield from definitions(node)


def functions(nodes: list[tuple[str, Definition]]) -> Iterator[tuple[str, Function]]:
    return ((path, node) for path, node in nodes if isinstance(node, Function))


def lines(node: Function) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def test_functions_are_short(nodes: list[tuple[str, Definition]]) -> None:
    lengths = sorted((lines(node), path, node.name) for path, node in functions(nodes))
    assert [found for found in lengths if found[0] > LONGEST_FUNCTION] == []
    assert lengths[len(lengths) * 9 // 10][0] <= NINE_OF_TEN_FUNCTIONS


def test_files_and_folders_are_small(texts: dict[str, str]) -> None:
    assert [path for path, text in texts.items() if text.count("\n") > LONGEST_FILE] == []
    sizes = Counter(path.rpartition("/")[0] for path in texts)
    most = {folder: FILES_OF_COMMANDS.get(folder, FILES_OF_A_FOLDER) for folder in sizes}
    assert {folder: size for folder, size in sizes.items() if size > most[folder]} == {}


def test_json_is_parsed_by_the_function_that_refuses_deep_nesting(texts: dict[str, str]) -> None:
    assert {path for path, text in texts.items() if PLAIN_PARSER.search(text)} == PARSING_FILES


def test_constructor_arguments_are_documented_in_the_class(
    nodes: list[tuple[str, Definition]],
) -> None:
    documented = [
        f"{path}:{node.lineno}"
        for path, node in functions(nodes)
        if node.name == "__init__" and ast.get_docstring(node)
    ]
    assert documented == []


def test_number_of_protocols_is_bounded(nodes: list[tuple[str, Definition]]) -> None:
    bases = [
        ast.unparse(base)
        for _, node in nodes
        if isinstance(node, ast.ClassDef)
        for base in node.bases
    ]
    assert sum(base.partition("[")[0].endswith("Protocol") for base in bases) <= PROTOCOLS

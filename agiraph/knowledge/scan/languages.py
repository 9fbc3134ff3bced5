"""Languages: the language of a file, and the description in its beginning."""

import re
from typing import Final

LANGUAGES: Final = {
    "Python": "py pyi",
    "JavaScript": "js mjs cjs jsx",
    "TypeScript": "ts tsx mts cts",
    "Java": "java",
    "Kotlin": "kt kts",
    "Scala": "scala",
    "Go": "go",
    "Rust": "rs",
    "C": "c h",
    "C++": "cc cpp cxx hpp hh hxx",
    "C#": "cs",
    "Swift": "swift",
    "Ruby": "rb",
    "PHP": "php",
    "Elixir": "ex exs",
    "Erlang": "erl",
    "Haskell": "hs",
    "OCaml": "ml mli",
    "Lua": "lua",
    "R": "r",
    "Julia": "jl",
    "Dart": "dart",
    "Perl": "pl pm",
    "Shell": "sh bash zsh",
    "SQL": "sql",
    "HTML": "html htm",
    "CSS": "css scss sass less",
    "Vue": "vue",
    "Svelte": "svelte",
    "Markdown": "md markdown",
    "reStructuredText": "rst",
    "Text": "txt",
    "JSON": "json",
    "YAML": "yaml yml",
    "TOML": "toml",
    "XML": "xml",
    "Protocol Buffers": "proto",
    "GraphQL": "graphql gql",
    "Terraform": "tf",
    "Jupyter": "ipynb",
}
BY_ENDING: Final = {
    ending: name for name, endings in LANGUAGES.items() for ending in endings.split()
}
BY_NAME: Final = {"makefile": "Make", "dockerfile": "Docker", "rakefile": "Ruby", "gemfile": "Ruby"}
CODE: Final = frozenset(list(LANGUAGES)[: list(LANGUAGES).index("HTML")]) | {"Vue", "Svelte"}
"""Languages that count as the languages in which a project is written."""

DEFINED: Final = re.compile(
    r"^(?:export |default |pub(?:\([a-z]+\))? |public |private |protected |static |final |abstract "
    r"|async |sealed |open |data )*"
    r"(?:def|class|function|func|fn|interface|struct|enum|trait|type|module|object|protocol|record)"
    r"\*? +(?:\([^)\n]{0,80}\) *)?([A-Za-z_]\w*)",
    re.M,
)
HEADING: Final = re.compile(r"^#{1,4} +(.{1,120})$", re.M)
DOCSTRING: Final = re.compile(r'\A(?:#[^\n]*\n|\s)*[rRuU]?("""|\'\'\')(.*?)(?:\1|\Z)', re.S)
COMMENT: Final = re.compile(
    r"\A(?:#![^\n]*\n)?\s*(/\*.*?\*/|(?:[ \t]*(?://|#|--|;;)[^\n]*\n)+)", re.S
)
MARKS: Final = re.compile(r"^[ \t]*(?:/\*+!?|\*+/|\*|///?!?|#+!?|--|;+)[ \t]?", re.M)
TAIL: Final = re.compile(r"\s*\*+/\s*\Z")
LICENSE: Final = re.compile(r"copyright|licen[sc]e|spdx", re.I)
MOST_NAMES: Final = 40
LONGEST_SUMMARY: Final = 400


def language_of(name: str) -> str:
    """Return the language of a file by its name, '' if it is not known."""
    lowered = name.lower()
    known = BY_NAME.get(lowered) or BY_NAME.get(lowered.partition(".")[0])
    return known or BY_ENDING.get(lowered.rpartition(".")[2] if "." in lowered else "", "")


def is_binary(head: bytes) -> bool:
    """Whether the beginning of a file is not text."""
    return b"\0" in head


def described(language: str, text: str) -> str:
    """Return the description in a file's beginning: its purpose, and the names it defines."""
    if language in ("Markdown", "reStructuredText", "Text"):
        headings = " · ".join(found.strip() for found in HEADING.findall(text)[:MOST_NAMES])
        return "\n\n".join(filter(None, (first_paragraph(text), headings)))
    names = list(dict.fromkeys(DEFINED.findall(text)))[:MOST_NAMES] if language in CODE else []
    defines = f"Defines: {', '.join(names)}" if names else ""
    return "\n\n".join(filter(None, (_purpose(language, text), defines)))


def _purpose(language: str, text: str) -> str:
    """Return the comment or docstring that a file begins with, '' if it is only a license."""
    found = DOCSTRING.match(text) if language == "Python" else None
    said = found[2] if found else ""
    if not said and language in CODE:
        comment = COMMENT.match(text)
        said = TAIL.sub("", MARKS.sub("", comment[1])) if comment else ""
    paragraph = said.strip().partition("\n\n")[0]
    return "" if LICENSE.search(paragraph) else _short(paragraph)


def first_paragraph(text: str) -> str:
    """Return the first paragraph of a text that is no heading, list of badges or HTML."""
    for paragraph in re.split(r"\n\s*\n", text):
        said = paragraph.strip()
        if said and said[0] not in "#<[!=-|*`>:.":
            return _short(said)
    return ""


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_SUMMARY else f"{line[: LONGEST_SUMMARY - 1].rstrip()}…"

"""The table of docs/external-agents.md; pure except for `write`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.clients.catalog import CASES, KILLED, ClientRelease
from tests.clients.judge import Cell

PAGE = Path(__file__).resolve().parents[2] / "docs" / "external-agents.md"
BEGIN, END = "<!-- clients: begin -->", "<!-- clients: end -->"
COLUMNS = (
    "agent",
    "version",
    "shell",
    "write",
    "keys",
    "question",
    "ref",
    "denied",
    "config",
    "kills",
    "usage",
)
Result = tuple[ClientRelease, Mapping[str, Cell]]


def rendered(results: Sequence[Result], date: str) -> str:
    """Return the table as markdown, in lines of at most 100 characters."""
    head = [
        f"Played on {date}; made by `make clients ARGS=--write`.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        f"| {' | '.join('---' for _ in COLUMNS)} |",
    ]
    return "\n".join([*head, *(_line(row, cells) for row, cells in results)]) + "\n"


def _line(row: ClientRelease, cells: Mapping[str, Cell]) -> str:
    words = [row.client.name, row.release.version]
    if row.problem and not cells:
        return f"| {' | '.join(words)} | cannot be installed |{' |' * (len(COLUMNS) - 3)}"
    for name in COLUMNS[2:]:
        words.append(_kills(cells) if name == "kills" else _word(cells, name))
    return f"| {' | '.join(words)} |"


def _word(cells: Mapping[str, Cell], name: str) -> str:
    return cells[name].word if name in cells else ""


def _kills(cells: Mapping[str, Cell]) -> str:
    """Return a letter for each process whose kill it survived, in the order of KILLED."""
    if not any(name in cells for name in CASES["kills"]):
        return ""
    return " ".join(what[0] if cells[f"kill {what}"].word == "yes" else "·" for what in KILLED)


def laid_into(page: str, table: str) -> str:
    """Return a page with the text between its markers replaced. ValueError without markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page has no lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{table}{END}{after}"


def write(results: Sequence[Result], date: str, page: Path = PAGE) -> None:
    """Put the table into the page."""
    page.write_text(laid_into(page.read_text("utf-8"), rendered(results, date)), "utf-8")

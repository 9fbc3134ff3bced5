"""The lines around the panels: the agent's status, a line's recipient, notices, and the help."""

from typing import Final

from rich.text import Text

from cli.console.commands import HELP
from cli.console.ui.state import ConsoleState, HeaderNotice
from cli.console.ui.theme import BOLD, QUIET, TONES, state_style, voice
from cli.output.formats import format_short_usage
from cli.sanitize import one_line

HELP_PAGE: Final = (
    "## What can be typed\n\n| line | effect |\n| --- | --- |\n"
    + "".join(f"| `{row.typed}` | {row.effect} |\n" for row in HELP)
    + """
`Tab` completes commands and names. `//text` is a text that begins with a slash.

## Keys everywhere

| key | effect |
| --- | --- |
| `Ctrl+N` `Ctrl+P` | the next, the previous entity; the whole team is one of them |
| `F1` … `F5` | help, team, board, files, tree |
| `F6` | the open questions |
| `PgUp` `PgDn` | scroll the conversation |
| `Esc` | from the line to the keys below, and back |
| `Ctrl+Q`, twice `Ctrl+C` | leave the console; the team goes on |

## Keys outside the line

| key | effect |
| --- | --- |
| `1` … `9` | answer the question on top with that option |
| `a` | go to the question; typing answers it in words |
| `↑` `↓` `Enter` | mark a tool call, open or fold it |
| `Home` `End` | older entries, the newest ones |
| `b` `f` `t` `c` | board, files, tree, conversation |
| `s` | show or hide the team; in it, `Enter` looks at an entity or folds the finished |
| `i` `/` `@` | back to the line |
"""
)


def head_of(state: ConsoleState, width: int) -> Text:
    """Return the top line: agent, status, stage, work, spending, whether the API is reachable."""
    agent = state.agent
    status = (agent.status.replace("_", " "), state_style(agent.status))
    left = Text.assemble((one_line(agent.name, 30), BOLD), "  ", status)
    for part in (_stage(state), _work(state), _spent(state)):
        if part:
            left.append(f"  {part}", QUIET)
    right = Text("● live", TONES["good"])
    if state.away:
        right = Text(f"◌ reconnecting ({' and '.join(sorted(state.away))})", TONES["bad"])
    room = max(10, width - 2 - right.cell_len - 1)
    left.truncate(room, overflow="ellipsis", pad=True)
    return Text.assemble(left, " ", right)


def target_of(state: ConsoleState, answering: str | None) -> Text:
    """Return the prompt of the line, with its recipient."""
    question = next((one for one in state.questions if one.id == answering), None)
    if question is not None:
        return Text(f"answer {one_line(question.sender, 20)}> ", TONES["ask"])
    return Text.assemble((state.recipient, voice(state.recipient)), ("> ", QUIET))


def notice_of(notice: HeaderNotice | None) -> Text:
    """Return the text of the status line; empty for None."""
    if notice is None:
        return Text("")
    return Text(one_line(notice.text, 300), TONES["bad" if notice.is_bad else "quiet"])


def _stage(state: ConsoleState) -> str:
    board = state.board
    if board is None or not 0 <= board.current_stage < len(board.stages):
        return ""
    return f"stage {one_line(board.stages[board.current_stage].name, 20)}"


def _work(state: ConsoleState) -> str:
    nodes = state.board.nodes if state.board else ()
    done = sum(node.status == "completed" for node in nodes)
    return f"{done} of {len(nodes)} nodes" if nodes else ""


def _spent(state: ConsoleState) -> str:
    spent = state.spent
    return format_short_usage(spent, " tokens") if spent["tokens"] else ""

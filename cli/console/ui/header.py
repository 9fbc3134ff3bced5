"""The lines round the panels: how the agent stands, whom a line goes to, which keys count. Pure."""

from typing import Final, Literal

from rich.text import Text

from cli.console.sanitize import one_line
from cli.console.ui.members import money_told, tokens_told
from cli.console.ui.theme import BOLD, QUIET, TONES, voice
from cli.console.ui.view import ConsoleView, NoticeShown

Place = Literal["line", "question", "panel"]
"""Where the focus is."""

STATUS_TONES: Final = {
    "working": "good",
    "completed": "good",
    "failed": "bad",
    "stopped": "bad",
    "waiting_for_human": "ask",
    "paused": "ask",
}


def head_of(view: ConsoleView, width: int) -> Text:
    """Return the top line: agent, status, stage, work, spending; and whether we are connected."""
    agent = view.agent
    tone = STATUS_TONES.get(agent.status, "quiet")
    left = Text.assemble(
        (one_line(agent.name, 30), BOLD),
        ("  ", QUIET),
        (agent.status.replace("_", " "), TONES[tone]),  # type: ignore[index]
    )
    for part in (_stage(view), _work(view), _spent(view)):
        if part:
            left.append(f"  {part}", QUIET)
    if view.away:
        names = " and ".join(sorted(view.away))
        right = Text(f"◌ reconnecting ({names})", TONES["bad"])
    else:
        right = Text("● live", TONES["good"])
    room = max(10, width - 2 - right.cell_len - 1)
    left.truncate(room, overflow="ellipsis", pad=True)
    return Text.assemble(left, " ", right)


def target_of(view: ConsoleView, answering: str | None) -> Text:
    """Return what stands before the line: whom it goes to."""
    question = next((one for one in view.questions if one.id == answering), None)
    if question is not None:
        return Text(f"answer {one_line(question.sender, 20)}> ", TONES["ask"])
    return Text.assemble((view.recipient, voice(view.recipient)), ("> ", QUIET))


def note_of(note: NoticeShown | None) -> Text:
    """Return the line of the last notice."""
    if note is None or not note.text:
        return Text("")
    return Text(one_line(note.text, 300), TONES["bad" if note.is_bad else "quiet"])


def keys_of(view: ConsoleView, place: Place, width: int) -> Text:
    """Return the keys that count where the focus is, as many as fit."""
    has_options = any(question.options for question in view.waiting)
    if place == "question":
        keys = [*([("1-9", "answer")] if has_options else []), ("type", "answer in words"),
                *([("← →", "other questions")] if len(view.waiting) > 1 else []),
                ("Esc", "later"), ("F3", "board"), ("F1", "help"), ("^Q", "quit")]  # fmt: skip
    elif place == "line":
        keys = [("Tab", "complete"), ("PgUp", "scroll"), ("^N ^P", "entity"), ("Esc", "keys"),
                ("F2", "team"), ("F3", "board"), ("F4", "files"), ("F5", "tree"), ("F1", "help"),
                ("^Q", "quit")]  # fmt: skip
    else:
        panels = {"talk": [("↑↓ Enter", "open")], "board": [("↑↓", "node")],
                  "files": [("Enter", "open"), ("←", "up")], "tree": [("Enter", "talk")],
                  "help": []}[view.panel]  # fmt: skip
        keys = [*panels, ("i", "write"), ("b", "board"), ("f", "files"), ("t", "tree"),
                ("s", "team"), ("^N ^P", "entity"), ("Esc", "back"), ("?", "help"),
                ("^Q", "quit")]  # fmt: skip
    if view.waiting and place == "panel":
        keys = [("1-9" if has_options else "a", "answer"), *keys]
    elif view.waiting and place == "line":
        keys = [("F6", "questions"), *keys]
    text = Text()
    for key, meaning in keys:
        piece = Text.assemble((key, BOLD), (f" {meaning}", QUIET), "  ")
        if text.cell_len + piece.cell_len > width:
            break
        text.append_text(piece)
    return text


def _stage(view: ConsoleView) -> str:
    board = view.board
    if board is None or not 0 <= board.current_stage < len(board.stages):
        return ""
    return f"stage {one_line(board.stages[board.current_stage].name, 20)}"


def _work(view: ConsoleView) -> str:
    nodes = view.board.nodes if view.board else ()
    if not nodes:
        return ""
    done = sum(node.status == "completed" for node in nodes)
    return f"{done} of {len(nodes)} nodes"


def _spent(view: ConsoleView) -> str:
    tokens = sum(one.tokens for one in view.members)
    costs = [one.cost_usd for one in view.members if one.cost_usd is not None]
    if not tokens:
        return ""
    money = money_told(sum(costs)) if costs else ""
    return f"{tokens_told(tokens)} tokens {money}".strip()

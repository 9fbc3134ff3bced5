"""The line at the bottom: its recipient, completion with Tab, and earlier lines."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input

from cli.console.commands import completions

REMEMBERED: Final = 200

Names = Callable[[], tuple[str, ...]]


class CommandSuggester(Suggester):
    """Suggests commands and names while a line is typed."""

    def __init__(self, names: Names) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._names = names

    async def get_suggestion(self, value: str) -> str | None:
        """Return the first completion of `value`, None if there is none."""
        found = completions(value, self._names())
        return found[0].rstrip() if found and found[0].rstrip() != value else None


class InputLine(Input):
    """The input line; the names that `names` returns are completed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete", "complete"),
        Binding("up", "recall(-1)", "earlier line", show=False),
        Binding("down", "recall(1)", "later line", show=False),
        Binding("pageup", "app.scroll_talk(-1)", "scroll"),
        Binding("pagedown", "app.scroll_talk(1)", "scroll", show=False),
        Binding("escape", "app.leave_line", "keys"),
    ]

    @dataclass
    class Entered(Message):
        """The person sent a line."""

        text: str

    def __init__(self, names: Names, *, id: str) -> None:
        super().__init__(
            placeholder="message, @name message, /help", id=id, suggester=CommandSuggester(names),
            select_on_focus=False, compact=True,
        )  # fmt: skip
        self._names = names
        self._sent: list[str] = []
        self._at = 0
        self._offered: list[str] = []

    def on_key(self, event: events.Key) -> None:
        """Send the line at Enter, before the keys that were typed after it.

        As a binding, the key would pass through the app, and be handled after the next line's first
        letters.
        """
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            text = self.value
            self.put("")
            self.post_message(self.Entered(text))

    def remember(self, line: str) -> None:
        """Store a line that was sent."""
        if line.strip() and self._sent[-1:] != [line]:
            self._sent = [*self._sent, line][-REMEMBERED:]
        self._at = len(self._sent)

    def put(self, text: str) -> None:
        """Replace the text, and set the cursor at its end."""
        self.value = text
        self.cursor_position = len(text)

    def action_complete(self) -> None:
        """Complete the line; pressed again, show the next completion.

        With an empty line, move the focus.
        """
        if self._offered and self.value == self._offered[0]:
            self._offered = [*self._offered[1:], self._offered[0]]
        else:
            self._offered = completions(self.value, self._names())
        if self._offered:
            self.put(self._offered[0])
        elif not self.value:
            self.screen.focus_next()

    def action_recall(self, by: int) -> None:
        """Put a line that was sent before into the input line (`by`: -1 older, 1 newer)."""
        at = min(max(0, self._at + by), len(self._sent))
        if at != self._at:
            self._at = at
            self.put(self._sent[at] if at < len(self._sent) else "")

    def _on_paste(self, event: events.Paste) -> None:
        """Insert a paste of several lines as one line, so that none is sent unseen."""
        event.stop()
        event.prevent_default()
        self.insert_text_at_cursor(" ".join(event.text.split("\n")))

"""Two small dialogs: yes or no, and one line of text."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static


class ConfirmScreen(ModalScreen[bool]):
    """Asks before something that cannot be taken back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "close(True)", "yes"),
        Binding("n,escape,q", "close(False)", "no"),
    ]

    def __init__(self, question: str) -> None:
        """Ask `question`."""
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """Show the question."""
        with Vertical(id="dialog"):
            yield Static(self._question, markup=False)
            yield Static("\ny  yes     n  no", markup=False)

    def action_close(self, answer: bool) -> None:
        """Answer and go."""
        self.dismiss(answer)


class PromptScreen(ModalScreen[str]):
    """Asks for one line; '' if the person thinks better of it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "cancel")]

    def __init__(self, question: str) -> None:
        """Ask `question`."""
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """Show the question and a line."""
        with Vertical(id="dialog"):
            yield Static(self._question, markup=False)
            yield Input(compact=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer and go."""
        event.stop()
        self.dismiss(event.value.strip())

    def action_cancel(self) -> None:
        """Go without an answer."""
        self.dismiss("")

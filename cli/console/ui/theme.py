"""The appearance: the colours by tone and by speaker, and the style sheet of the screen.

No information is shown by colour alone: every state has a sign, a selection a mark, so that a
screen without colours (NO_COLOR) shows the same.
"""

import zlib
from typing import Final

from rich.style import Style
from rich.theme import Theme as RichTheme
from textual.theme import Theme

from agiraph.core.event_types import Tone
from agiraph.core.ids import COORDINATOR_NAME, HUMAN_NAME
from cli.console.entities import look_of

THEME: Final = Theme(
    name="agiraph",
    primary="#7aa2f7",
    secondary="#7dcfff",
    accent="#e0af68",
    foreground="#d5d9e8",
    background="#14161f",
    surface="#1a1d29",
    panel="#242838",
    success="#9ece6a",
    warning="#e0af68",
    error="#f7768e",
    dark=True,
)

TONES: Final[dict[Tone, Style]] = {
    "plain": Style(color="#d5d9e8"),
    "quiet": Style(color="#98a0bd"),
    "good": Style(color="#9ece6a"),
    "bad": Style(color="#f7768e"),
    "voice": Style(color="#d5d9e8"),
    "ask": Style(color="#e0af68", bold=True),
}
MARKDOWN: Final = RichTheme(
    {
        "markdown.h1": "bold #7aa2f7",
        "markdown.h2": "bold #7aa2f7",
        "markdown.h3": "bold #7dcfff",
        "markdown.code": "#73daca",
        "markdown.code_block": "#73daca",
        "markdown.table.header": "bold #7dcfff",
        "markdown.table.border": "#565f89",
        "markdown.item.number": "#7dcfff",
        "markdown.link": "#7dcfff",
        "markdown.link_url": "underline #7dcfff",
    }
)
QUIET: Final = TONES["quiet"]
BOLD: Final = Style(bold=True)

VOICES: Final = ("#7dcfff", "#bb9af7", "#73daca", "#ff9e64", "#c0caf5", "#f7a8d0", "#9ece6a")
OWN: Final = {HUMAN_NAME: "#e0af68", COORDINATOR_NAME: "#7aa2f7"}


def voice(name: str) -> Style:
    """Return the style of a speaker's name: always the same for the same name."""
    chosen = OWN.get(name) or VOICES[zlib.crc32(name.encode()) % len(VOICES)]
    return Style(color=chosen, bold=True)


def state_style(state: str) -> Style:
    """Return the style of an entity's state."""
    return TONES[look_of(state)[1]]


SHEET: Final = """
Screen { layers: base above; }
#head { height: 1; background: $panel; padding: 0 1; }
#middle { height: 1fr; }
#team { width: 34; height: 1fr; border: none; padding: 0; background: $surface; }
#team { scrollbar-size-vertical: 1; }
#team:focus { background: $surface; border: none; }
#team > .option-list--option-highlighted { background: $primary 25%; }
#team:focus > .option-list--option-highlighted { background: $primary 45%; }
#panels { width: 1fr; height: 1fr; }
#talk, #page, #help { height: 1fr; scrollbar-gutter: stable; }
#talk, #page, #help { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; }
#questions { height: auto; max-height: 8; background: $panel; padding: 0 1; }
#questions:focus { background: $primary 25%; }
#note { height: auto; max-height: 2; padding: 0 1; }
#line { height: 1; background: $surface; }
#target { width: auto; padding: 0 0 0 1; }
#input, #input:focus { height: 1; border: none; padding: 0; width: 1fr; background: $surface; }
Footer { background: $panel; }
FooterKey .footer-key--key { color: $foreground; background: $panel; }
DataTable { scrollbar-size-horizontal: 0; }
DataTable { height: 1fr; scrollbar-size-vertical: 1; background: $background; }
DataTable > .datatable--header { background: $surface; text-style: bold; }
#detail { height: auto; max-height: 40%; background: $surface; padding: 0 1; }
.is-hidden { display: none; }
.is-narrow #team { width: 26; }
App:nocolor #questions:focus { text-style: reverse; }
App:nocolor DataTable > .datatable--cursor { text-style: reverse; }
App:nocolor OptionList > .option-list--option-highlighted { text-style: reverse; }
ConfirmScreen, PromptScreen { align: center middle; background: $background 60%; }
#dialog { width: 60; max-width: 90%; height: auto; padding: 1 2; background: $panel; }
#dialog { border: round $primary; }
#dialog Input { margin-top: 1; }
""".replace("\n\n", "\n")

"""The team at the side: one entity a row, with what it does, for how long, at what cost."""

from rich.text import Text
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from cli.console.ui.members import EVERYONE, TeamMember, age, money_told, tokens_told
from cli.console.ui.theme import BOLD, QUIET, TONES, state_style, voice
from cli.console.ui.view import ConsoleView

ROOM = 2


class TeamPanel(OptionList):
    """A list of members; choosing one selects its conversation."""

    def __init__(self, *, id: str) -> None:
        """Begin empty."""
        super().__init__(id=id)
        self._prompts: dict[str, Text] = {}

    def show(self, view: ConsoleView, now: float) -> None:
        """Show the members of a view; only rows that changed are drawn again."""
        width = max(16, self.scrollable_content_region.width - ROOM)
        prompts = {EVERYONE: _team_row(view, width)}
        prompts |= {one.key: _row(one, view, width, now) for one in view.members}
        if prompts.keys() != self._prompts.keys():
            self.clear_options()
            self.add_options([Option(prompt, id=key) for key, prompt in prompts.items()])
            if view.selected in prompts:
                self.highlighted = list(prompts).index(view.selected)
        else:
            for key, prompt in prompts.items():
                if prompt != self._prompts[key] or prompt.spans != self._prompts[key].spans:
                    self.replace_option_prompt(key, prompt)
        self._prompts = prompts


def _team_row(view: ConsoleView, width: int) -> Text:
    mark = "▶ " if view.selected == EVERYONE else "  "
    tokens = sum(one.tokens for one in view.members)
    costs = [one.cost_usd for one in view.members if one.cost_usd is not None]
    spent = " ".join(filter(None, (tokens_told(tokens), money_told(sum(costs) if costs else None))))
    row = Text.assemble((f"{mark}≡ whole team", BOLD))
    return _sided(row, spent, width)


def _row(member: TeamMember, view: ConsoleView, width: int, now: float) -> Text:
    mark = "▶ " if view.selected == member.key else "  "
    asks = any(question.sender == member.name for question in view.questions)
    sign = "?" if asks else member.sign
    style = TONES["ask"] if asks else state_style(member.state)
    head = Text.assemble((mark, BOLD), (f"{sign} ", style), (member.name, voice(member.name)))
    since = age(now - member.since) if member.since else ""
    spent = (tokens_told(member.tokens), money_told(member.cost_usd)) if member.tokens else ()
    right = " ".join(filter(None, (*spent, since)))
    if head.cell_len + 1 + len(right) > width:  # the whole name is worth more than what it spent
        right = since
    doing = Text(f"    {member.doing or member.node or member.state.replace('_', ' ')}", QUIET)
    return Text.assemble(_sided(head, right, width), "\n", _sided(doing, "", width))


def _sided(left: Text, right: str, width: int) -> Text:
    """Return one line of exactly `width` cells, `right` at its end."""
    room = width - len(right) - (1 if right else 0)
    left.truncate(max(1, room), overflow="ellipsis", pad=True)
    if right:
        left.append(f" {right}", QUIET)
    return left

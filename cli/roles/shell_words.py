"""The words of the shell: its commands, their completions, and the changes of a team."""

from typing import TYPE_CHECKING, Final

from cli.output.formats import how_it_works, shown_agent
from cli.roles.typed_lines import files_like
from cli.sanitize import one_line

if TYPE_CHECKING:
    from agiraph.http.api import RoleTeamView, RoleView

ON_OFF: Final = {"on": True, "off": False}
ABOUT: Final = {
    "/help": ("", "show this"),
    "/agents": ("", "list the agent of each role"),
    "/team": ("", "show the roles, the lead and the bounds"),
    "/maxturns": ("N", "set after how many turns a task ends"),
    "/followup": ("on|off", "whether the next task knows the earlier tasks"),
    "/history": ("[N]", "list the finished tasks and their results, or all of number N"),
    "/save": ("[FILE]", "write the finished tasks to a file"),
    "/load": ("FILE", "continue with the tasks of such a file"),
    "/reset": ("", "forget the finished tasks"),
    "/reload": ("", "read agents.yaml again, and list the changes"),
    "/validate": ("", "check that each role can work"),
    "/clear": ("", "clear the screen"),
    "/info": ("", "show the settings of this shell"),
    "/exit": ("", "leave; so does Ctrl-D"),
}


def completions(before: str, word: str) -> list[str]:
    """Return the completions of the last word of a line; `before` is the text before it."""
    command = before.strip()
    if not command:
        names = [name for name in ABOUT if word.startswith("/") and name.startswith(word)]
        return [f"{name} " if ABOUT[name][0] else name for name in names]
    match ABOUT.get(command, ("", ""))[0].strip("[]"):
        case "on|off":
            return [one for one in ON_OFF if one.startswith(word)]
        case "FILE":
            return files_like(word)
    return []


def changes(before: "RoleTeamView", after: "RoleTeamView") -> list[str]:
    """Return the differences between two states of a team as lines."""
    old = {role.name: role for role in before.roles}
    new = {role.name: role for role in after.roles}
    found = [f"{name}: gone" for name in old if name not in new]
    found += [f"{name}: new, {works(role)}" for name, role in new.items() if name not in old]
    for name in old.keys() & new.keys():
        was, now = works(old[name]), works(new[name])
        if was != now:
            found.append(f"{name}: {now}, before: {was}")
        if old[name].problem and not new[name].problem:
            found.append(f"{name}: can work now")
        words = ("title", "responsibilities", "fallback")
        found += [
            f"{name}: {word} is now '{one_line(getattr(new[name], word), 100)}'"
            for word in words
            if getattr(old[name], word) != getattr(new[name], word)
        ]
    bounds = ("lead_role", "max_turns", "repetitions", "transcript_turns")
    return sorted(found) + [
        f"{name}: {getattr(after, name)}, before: {getattr(before, name)}"
        for name in bounds
        if getattr(before, name) != getattr(after, name)
    ]


def counted(turns: int) -> str:
    """Return a number of turns as text."""
    return f"{turns} {'turn' if turns == 1 else 'turns'}"


def works(role: "RoleView") -> str:
    facts = role.model_dump()
    return f"{shown_agent(facts)}, {how_it_works(facts)}"

"""The table of commands: the family in `--help`, the module, and one line of help.

A command's module is imported only when that command runs, so that `agiraph --help` is fast.
"""

from typing import NamedTuple

START, WATCH, TALK, STEER, READ, SET_UP = FAMILIES = (
    *("Start", "Watch", "Talk", "Steer", "Read", "Set up"),
)


class CommandEntry(NamedTuple):
    """One command; in `module` a function has the command's name."""

    family: str
    module: str
    help: str


_TABLE = {
    (START, "run.command"): {"run": "Give a team a goal and watch it work."},
    (START, "plan"): {"plan": "Write, check, show or draw a plan; export a run's."},
    (START, "roles.command"): {"roles": "Give a task to the Agentic Team, or show its roles."},
    (START, "roles.shell"): {"agentic-shell": "Type tasks for a team of roles at a prompt."},
    (START, "commands.supervisor"): {
        "up": "Start the supervisor in the background.",
        "down": "Stop the supervisor and everything on it.",
    },
    (WATCH, "commands.attach"): {
        "attach": "Watch a running agent, as `run` does.",
        "wait": "Wait until an agent's run ends.",
    },
    (WATCH, "commands.supervisor"): {"status": "Show whether a supervisor runs, and what it does."},
    (WATCH, "commands.processes"): {
        "ps": "List every entity: process, state, tokens, cost.",
        "top": "Watch every entity: what it does, uses and costs.",
    },
    (WATCH, "commands.access"): {"ui": "Open the web UI in a browser."},
    (WATCH, "commands.agents"): {"agents": "List all agents."},
    (WATCH, "commands.board"): {
        "board": "List the nodes of an agent's work board.",
        "workers": "List an agent's workers.",
    },
    (WATCH, "commands.events"): {"events": "List or follow the events of an agent."},
    (WATCH, "commands.logs"): {"logs": "Show or follow the logs of processes."},
    (TALK, "commands.console"): {"console": "Talk with a running team."},
    (TALK, "commands.talk"): {
        "send": "Send a message to an agent or one of its workers.",
        "nudge": "Give a running agent an instruction.",
    },
    (TALK, "commands.questions"): {
        "questions": "List the questions that agents ask you.",
        "respond": "Answer a question.",
        "approvals": "List or revoke standing approvals.",
    },
    (TALK, "commands.channels"): {
        "channels": "List the channels that notify you, or test one.",
        "away": "Set yourself away, and where urgent notices go.",
        "back": "Set yourself available again.",
    },
    (STEER, "commands.processes"): {
        "pause": "Pause an entity.",
        "step": "Let a paused entity do one step.",
        "resume": "Resume a paused entity.",
        "interrupt": "Cancel the current step of an entity.",
        "stop": "Stop an entity in an orderly way.",
        "restart": "Stop an entity and start it again.",
        "kill": "Kill an entity's process.",
        "dead": "List dead letters, or retry one.",
    },
    (STEER, "commands.hosts"): {"move": "Move a worker to another machine."},
    (STEER, "commands.spending"): {"budget": "Show or set budgets."},
    (STEER, "commands.triggers"): {"triggers": "List, add, pause or cancel triggers."},
    (STEER, "commands.agents"): {
        "archive": "Archive an agent, or list the archive.",
        "restore": "Restore an agent from the archive.",
    },
    (STEER, "commands.nodes"): {
        "retry": "Try a node again.",
        "assign": "Give a node to another worker or model.",
        "cancel": "Cancel a node.",
    },
    (STEER, "commands.removal"): {
        "rm": "Delete agents and their files permanently.",
        "delete": "The same as rm.",
        "prune": "Delete agents that ended long ago.",
    },
    (READ, "commands.agents"): {"show": "Show one agent: goal, status, models, result."},
    (READ, "commands.result"): {"result": "Print or write what a run has delivered."},
    (READ, "commands.transcript"): {"transcript": "Read what an entity heard, said and ran."},
    (READ, "commands.files"): {
        "files": "List an agent's files, or print one.",
        "memory": "List, read, search or edit an agent's memory.",
    },
    (READ, "knowledge.command"): {
        "knowledge": "What earlier work has taught: search, show, export."
    },
    (READ, "commands.talk"): {"messages": "List the messages of an agent's team."},
    (READ, "commands.spending"): {"usage": "Show what was spent, in tokens and money."},
    (SET_UP, "commands.init"): {"init": "Find keys, models and agents; set the default model."},
    (SET_UP, "commands.setup"): {
        "doctor": "Check this machine and this home.",
        "config": "Show the settings, and where they come from.",
    },
    (SET_UP, "commands.models"): {
        "models": "List the models that can be used, and why others cannot.",
        "outside": "List the external agents that can be workers.",
    },
    (SET_UP, "commands.local"): {
        "local": "Install or try the model that runs on this machine.",
    },
    (SET_UP, "commands.hosts"): {"host": "Let other machines run workers; join a home as one."},
    (SET_UP, "commands.mcp"): {"mcp": "Serve Agiraph over MCP; list tool servers."},
    (SET_UP, "commands.access"): {
        "tokens": "List, add, rotate or revoke API tokens.",
        "login": "Create a login link for a browser.",
        "audit": "List the last calls of the API: who, what, how it ended.",
        "logins": "List the browsers that are logged in.",
        "logout": "Log a browser out.",
    },
    (SET_UP, "commands.remotes"): {
        "remotes": "List or forget the homes on other machines.",
    },
    (SET_UP, "commands.command_line"): {
        "help": "Show the help of a command.",
        "completion": "Print the script by which a shell completes commands.",
    },
    (SET_UP, "commands.chaos"): {
        "chaos": "Kill processes at random and check that nothing is lost.",
    },
}

COMMANDS: dict[str, CommandEntry] = {
    name: CommandEntry(family, f"cli.{module}", help)
    for (family, module), commands in _TABLE.items()
    for name, help in commands.items()
}

ALIASES = {"context": "knowledge", "sessions": "logins", "team": "roles"}
"""Former names of commands, not listed in the help; removed in the next release."""

AT_HOME = frozenset(
    ("up", "down", "logs", "init", "doctor", "config", "local"),
)
"""Commands that work on a home's files or processes: `--url` is refused."""

WITHOUT_HOME = frozenset(("remotes", "help", "completion", "chaos"))
"""Commands that use no home, or a home of their own."""

OVER_API = frozenset(
    (
        *("run", "attach", "wait", "status", "ps", "top", "ui", "agents", "board", "workers"),
        *("events", "console", "send", "nudge", "questions", "respond", "approvals", "channels"),
        *("away", "back", "pause", "step", "resume", "interrupt", "stop", "restart", "kill"),
        *("dead", "budget", "triggers", "archive", "restore", "retry", "assign", "cancel", "rm"),
        *("delete", "prune", "show", "result", "transcript", "files", "memory", "messages"),
        *("usage", "models", "outside", "mcp", "tokens", "login", "logins", "logout", "audit"),
        *("host", "move", "plan", "roles", "agentic-shell", "knowledge"),
    )
)
"""Commands that a gateway serves, on this machine or, with `--url`, on another."""

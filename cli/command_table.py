"""The table of commands: the family in `--help`, the module, and one line of help.

A command's module is imported only when that command runs, so that `agiraph --help` is fast.
"""

from typing import NamedTuple


class CommandEntry(NamedTuple):
    """One command: `place` is `module:attribute`."""

    family: str
    place: str
    help: str


WORK = "Work"
LOOK = "Look"
TALK = "Talk"
STEER = "Steer"
SET_UP = "Set up"

COMMANDS: dict[str, CommandEntry] = {
    "run": CommandEntry(WORK, "cli.run:run", "Give a team a goal and watch it work."),
    "console": CommandEntry(TALK, "cli.commands.console:console", "Talk with a running team."),
    "send": CommandEntry(
        TALK, "cli.commands.talk:send", "Send a message to an agent or one of its workers."
    ),
    "nudge": CommandEntry(TALK, "cli.commands.talk:nudge", "Give a running agent an instruction."),
    "questions": CommandEntry(
        TALK, "cli.commands.answering:questions", "List the questions that agents ask you."
    ),
    "channels": CommandEntry(
        TALK, "cli.commands.channels:channels", "List the channels that notify you, or test one."
    ),
    "away": CommandEntry(
        TALK, "cli.commands.channels:away", "Set yourself away, and where urgent notices go."
    ),
    "back": CommandEntry(TALK, "cli.commands.channels:back", "Set yourself available again."),
    "respond": CommandEntry(TALK, "cli.commands.answering:respond", "Answer a question."),
    "approvals": CommandEntry(
        TALK, "cli.commands.approvals:approvals", "List or revoke standing approvals."
    ),
    "ps": CommandEntry(
        LOOK, "cli.commands.ps:ps", "List every entity: process, state, tokens, cost."
    ),
    "top": CommandEntry(
        LOOK, "cli.commands.top:top", "Watch every entity: what it does, uses and costs."
    ),
    "agents": CommandEntry(LOOK, "cli.commands.agents:agents", "List all agents."),
    "show": CommandEntry(LOOK, "cli.commands.agents:show", "Show one agent."),
    "board": CommandEntry(
        LOOK, "cli.commands.board:board", "List the nodes of an agent's work board."
    ),
    "workers": CommandEntry(LOOK, "cli.commands.board:workers", "List an agent's workers."),
    "messages": CommandEntry(
        LOOK, "cli.commands.talk:messages", "List the messages of an agent's team."
    ),
    "events": CommandEntry(
        LOOK, "cli.commands.events:events", "List or follow the events of an agent."
    ),
    "logs": CommandEntry(LOOK, "cli.commands.logs:logs", "Show or follow the logs of processes."),
    "files": CommandEntry(LOOK, "cli.commands.files:files", "List an agent's files, or print one."),
    "memory": CommandEntry(
        LOOK, "cli.commands.memory:memory", "List, read or search an agent's memory."
    ),
    "usage": CommandEntry(
        LOOK, "cli.commands.usage:usage", "Show what was spent, in tokens and money."
    ),
    "budget": CommandEntry(LOOK, "cli.commands.budget:budget", "Show or set budgets."),
    "triggers": CommandEntry(
        LOOK, "cli.commands.triggers:triggers", "List, add, pause or cancel triggers."
    ),
    "pause": CommandEntry(STEER, "cli.commands.steer:pause", "Pause an entity."),
    "resume": CommandEntry(STEER, "cli.commands.steer:resume", "Resume a paused entity."),
    "stop": CommandEntry(STEER, "cli.commands.steer:stop", "Stop an entity in an orderly way."),
    "restart": CommandEntry(
        STEER, "cli.commands.steer:restart", "Stop an entity and start it again."
    ),
    "archive": CommandEntry(
        STEER, "cli.commands.archive:archive", "Archive an agent, or list the archive."
    ),
    "restore": CommandEntry(
        STEER, "cli.commands.archive:restore", "Restore an agent from the archive."
    ),
    "delete": CommandEntry(
        STEER, "cli.commands.archive:delete", "Delete an agent and its files permanently."
    ),
    "kill": CommandEntry(STEER, "cli.commands.steer:kill", "Kill an entity's process."),
    "dead": CommandEntry(STEER, "cli.commands.dead:dead", "List dead letters, or retry one."),
    "models": CommandEntry(
        SET_UP,
        "cli.commands.models:models",
        "List the models that can be used, and why others cannot.",
    ),
    "outside": CommandEntry(
        SET_UP, "cli.commands.outside:outside", "List the external agents that can be workers."
    ),
    "mcp": CommandEntry(
        SET_UP, "cli.commands.mcp:mcp", "Serve Agiraph over MCP; list tool servers."
    ),
    "local": CommandEntry(
        SET_UP, "cli.commands.local:local", "Install or try the model that runs on this machine."
    ),
    "chaos": CommandEntry(
        SET_UP,
        "cli.commands.chaos:chaos",
        "Kill processes at random and check that nothing is lost.",
    ),
    "doctor": CommandEntry(
        SET_UP, "cli.commands.doctor:doctor", "Check this machine and this home."
    ),
    "tokens": CommandEntry(
        SET_UP, "cli.commands.tokens:tokens", "List, add, rotate or revoke API tokens."
    ),
    "login": CommandEntry(SET_UP, "cli.commands.login:login", "Create a login link for a browser."),
    "sessions": CommandEntry(
        SET_UP, "cli.commands.login:sessions", "List the browsers that are logged in."
    ),
    "logout": CommandEntry(SET_UP, "cli.commands.login:logout", "Log a browser out."),
    "config": CommandEntry(
        SET_UP, "cli.commands.config:config", "Show the settings, or their schema."
    ),
}

FAMILIES = (WORK, TALK, LOOK, STEER, SET_UP)

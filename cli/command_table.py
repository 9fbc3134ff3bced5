"""The table of commands: its family in `--help`, where it lives, and its one line of help.

A command's module is imported only when that command runs, so that `agiraph --help` is quick.
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
    "nudge": CommandEntry(
        TALK, "cli.commands.talk:nudge", "Put an instruction into a running agent."
    ),
    "questions": CommandEntry(
        TALK, "cli.commands.answering:questions", "List what the human was asked."
    ),
    "channels": CommandEntry(
        TALK, "cli.commands.channels:channels", "List how you are told things, or test one."
    ),
    "away": CommandEntry(
        TALK, "cli.commands.channels:away", "Say that you are away, and where what is urgent goes."
    ),
    "back": CommandEntry(TALK, "cli.commands.channels:back", "Say that you are back."),
    "respond": CommandEntry(TALK, "cli.commands.answering:respond", "Answer a question."),
    "approvals": CommandEntry(
        TALK, "cli.commands.approvals:approvals", "List or revoke what you always allow."
    ),
    "ps": CommandEntry(
        LOOK, "cli.commands.ps:ps", "List every entity: process, state, tokens, money."
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
        LOOK, "cli.commands.messages:messages", "List what was said in an agent's team."
    ),
    "events": CommandEntry(
        LOOK, "cli.commands.events:events", "List or follow what happened in an agent."
    ),
    "logs": CommandEntry(
        LOOK, "cli.commands.logs:logs", "Show or follow what processes wrote into their logs."
    ),
    "files": CommandEntry(LOOK, "cli.commands.files:files", "List an agent's files, or print one."),
    "memory": CommandEntry(
        LOOK, "cli.commands.memory:memory", "List, read or search what an agent remembers."
    ),
    "usage": CommandEntry(
        LOOK, "cli.commands.usage:usage", "Tell what was spent, in tokens and money."
    ),
    "budget": CommandEntry(
        LOOK, "cli.commands.budget:budget", "Show what may be spent, or set it."
    ),
    "triggers": CommandEntry(
        LOOK, "cli.commands.triggers:triggers", "List, add, pause or cancel triggers."
    ),
    "pause": CommandEntry(STEER, "cli.commands.steer:pause", "Let an entity stand still."),
    "resume": CommandEntry(STEER, "cli.commands.steer:resume", "Let a paused entity go on."),
    "stop": CommandEntry(STEER, "cli.commands.steer:stop", "Stop an entity in an orderly way."),
    "restart": CommandEntry(
        STEER, "cli.commands.steer:restart", "Stop an entity and start it again."
    ),
    "archive": CommandEntry(
        STEER, "cli.commands.archive:archive", "Put an agent away, or list those put away."
    ),
    "restore": CommandEntry(
        STEER, "cli.commands.archive:restore", "Bring an agent back from the archive."
    ),
    "delete": CommandEntry(
        STEER, "cli.commands.archive:delete", "Delete an agent and all it wrote, for good."
    ),
    "kill": CommandEntry(STEER, "cli.commands.steer:kill", "Kill an entity's process at once."),
    "dead": CommandEntry(
        STEER, "cli.commands.dead:dead", "List messages that were set aside, or retry one."
    ),
    "models": CommandEntry(
        SET_UP, "cli.commands.models:models", "List which models can be used, and why not."
    ),
    "outside": CommandEntry(
        SET_UP, "cli.commands.outside:outside", "List the outside agents that a worker can be."
    ),
    "mcp": CommandEntry(
        SET_UP, "cli.commands.mcp:mcp", "Serve Agiraph over MCP; list servers of tools."
    ),
    "local": CommandEntry(
        SET_UP, "cli.commands.local:local", "Fetch or try the model that runs on this machine."
    ),
    "chaos": CommandEntry(
        SET_UP, "cli.commands.chaos:chaos", "Kill processes at random and see that nothing is lost."
    ),
    "doctor": CommandEntry(
        SET_UP, "cli.commands.doctor:doctor", "Check this machine and this home."
    ),
    "tokens": CommandEntry(
        SET_UP, "cli.commands.tokens:tokens", "List, add, rotate or revoke tokens of the API."
    ),
    "login": CommandEntry(
        SET_UP, "cli.commands.login:login", "Make a link by which a browser logs in, once."
    ),
    "sessions": CommandEntry(
        SET_UP, "cli.commands.login:sessions", "List the browsers that are logged in."
    ),
    "logout": CommandEntry(SET_UP, "cli.commands.login:logout", "Log a browser out."),
    "config": CommandEntry(
        SET_UP, "cli.commands.config:config", "Show the settings and what is possible."
    ),
}

FAMILIES = (WORK, TALK, LOOK, STEER, SET_UP)

"""The table of commands: its family in `--help`, where it lives, and its one line of help.

A command's module is imported only when that command runs, so that `agiraph --help` is quick.
"""

from typing import NamedTuple


class Entry(NamedTuple):
    """One command: `place` is `module:attribute`."""

    family: str
    place: str
    help: str


WORK = "Work"
LOOK = "Look"
TALK = "Talk"
STEER = "Steer"
SET_UP = "Set up"

COMMANDS: dict[str, Entry] = {
    "run": Entry(WORK, "cli.run:run", "Give a team a goal and watch it work."),
    "console": Entry(TALK, "cli.console:console", "Talk with a running team."),
    "send": Entry(TALK, "cli.talk:send", "Send a message to an agent or one of its workers."),
    "nudge": Entry(TALK, "cli.talk:nudge", "Put an instruction into a running agent."),
    "questions": Entry(TALK, "cli.answering:questions", "List what the human was asked."),
    "channels": Entry(TALK, "cli.channels:channels", "List how you are told things, or test one."),
    "away": Entry(
        TALK, "cli.channels:away", "Say that you are away, and where what is urgent goes."
    ),
    "back": Entry(TALK, "cli.channels:back", "Say that you are back."),
    "respond": Entry(TALK, "cli.answering:respond", "Answer a question."),
    "approvals": Entry(TALK, "cli.approvals:approvals", "List or revoke what you always allow."),
    "ps": Entry(LOOK, "cli.ps:ps", "List every entity: process, state, tokens, money."),
    "top": Entry(LOOK, "cli.top:top", "Watch every entity: what it does, uses and costs."),
    "agents": Entry(LOOK, "cli.agents:agents", "List all agents."),
    "show": Entry(LOOK, "cli.agents:show", "Show one agent."),
    "board": Entry(LOOK, "cli.board:board", "List the nodes of an agent's work board."),
    "workers": Entry(LOOK, "cli.board:workers", "List an agent's workers."),
    "messages": Entry(LOOK, "cli.messages:messages", "List what was said in an agent's team."),
    "events": Entry(LOOK, "cli.events:events", "List or follow what happened in an agent."),
    "logs": Entry(LOOK, "cli.logs:logs", "Show or follow what processes wrote into their logs."),
    "files": Entry(LOOK, "cli.files:files", "List an agent's files, or print one."),
    "memory": Entry(LOOK, "cli.memory:memory", "List, read or search what an agent remembers."),
    "usage": Entry(LOOK, "cli.usage:usage", "Tell what was spent, in tokens and money."),
    "budget": Entry(LOOK, "cli.budget:budget", "Show what may be spent, or set it."),
    "triggers": Entry(LOOK, "cli.triggers:triggers", "List, add, pause or cancel triggers."),
    "pause": Entry(STEER, "cli.steer:pause", "Let an entity stand still."),
    "resume": Entry(STEER, "cli.steer:resume", "Let a paused entity go on."),
    "stop": Entry(STEER, "cli.steer:stop", "Stop an entity in an orderly way."),
    "restart": Entry(STEER, "cli.steer:restart", "Stop an entity and start it again."),
    "archive": Entry(STEER, "cli.archive:archive", "Put an agent away, or list those put away."),
    "restore": Entry(STEER, "cli.archive:restore", "Bring an agent back from the archive."),
    "delete": Entry(STEER, "cli.archive:delete", "Delete an agent and all it wrote, for good."),
    "kill": Entry(STEER, "cli.steer:kill", "Kill an entity's process at once."),
    "dead": Entry(STEER, "cli.dead:dead", "List messages that were set aside, or retry one."),
    "models": Entry(SET_UP, "cli.models:models", "List which models can be used, and why not."),
    "outside": Entry(
        SET_UP, "cli.outside:outside", "List the outside agents that a worker can be."
    ),
    "mcp": Entry(SET_UP, "cli.mcp:mcp", "Serve Agiraph over MCP; list servers of tools."),
    "local": Entry(SET_UP, "cli.local:local", "Fetch or try the model that runs on this machine."),
    "chaos": Entry(
        SET_UP, "cli.chaos:chaos", "Kill processes at random and see that nothing is lost."
    ),
    "doctor": Entry(SET_UP, "cli.doctor:doctor", "Check this machine and this home."),
    "tokens": Entry(SET_UP, "cli.tokens:tokens", "List, add, rotate or revoke tokens of the API."),
    "login": Entry(SET_UP, "cli.login:login", "Make a link by which a browser logs in, once."),
    "sessions": Entry(SET_UP, "cli.login:sessions", "List the browsers that are logged in."),
    "logout": Entry(SET_UP, "cli.login:logout", "Log a browser out."),
    "config": Entry(SET_UP, "cli.config:config", "Show the settings and what is possible."),
}

FAMILIES = (WORK, TALK, LOOK, STEER, SET_UP)

"""AgentFiles: the files that the coordinator writes into the agent's home and its run's folder."""

import json
import time
from pathlib import Path
from typing import Any

from agiraph.agent.compaction import CompactionContext, SummarySection
from agiraph.agent.listing import listing, read_texts
from agiraph.agent.prompts import render
from agiraph.board.board import Board
from agiraph.board.plans.plan_page import plan_page, with_own_text
from agiraph.board.view import node_row, worker_row
from agiraph.core.clock import iso, iso_date
from agiraph.core.ids import RunId
from agiraph.core.models import Agent, WorkNode
from agiraph.core.record import read_strict
from agiraph.core.results import RESULT_FILE
from agiraph.memory.history import locked
from agiraph.memory.loading import daily_logs, memory_text
from agiraph.messages.child import ChildFailed
from agiraph.storage.file_names import spelled
from agiraph.storage.files import (
    entries,
    files_below,
    is_file,
    is_folder,
    is_missing,
    make_folder,
    move,
    read_bytes,
    read_part,
    read_shown,
    replace_file,
    status_of,
)
from agiraph.storage.home import AgentHome, RunHome, plan_copy

MOST_FILES = 1000
MOST_REF_FILES = 30
MOST_RESULT_BYTES = 65_536
OWN_FOLDERS = ("nodes", "workers", "_messages")

SHOWN_OF_MEMORY = 24_000
GOAL_TOLD = "It has the goal of this run: the message that begins with `# Goal`."


class AgentFiles:
    """Writes the files for people and prompts; the journals are elsewhere.

    Creates the missing files and folders in the home of `agent`.
    """

    def __init__(self, home: AgentHome, run: RunId, agent: Agent) -> None:
        self.home = home
        self.run: RunHome = home.run(run)
        # They must exist before the first command, which would otherwise create them.
        for folder in (
            *(self.run.messages, self.run.attachments, self.run.shared),
            *(self.run.nodes, self.run.workers),
        ):
            make_folder(folder)
        first_texts = (
            (home.soul, f"{render('soul')}\n"),
            (home.goal, goal_text(agent.goal)),
            (home.memory_file, f"# What {agent.name} remembers\n"),
            (home.memory / "index.md", "# Index\n\nDaily logs stand here as YYYY-MM-DD.md.\n"),
        )
        for path, text in first_texts:
            if status_of(path) is None:
                replace_file(path, text)

    def load_agent(self) -> Agent | None:
        """Return the agent's record, None if there is none. Raises ValueError, OSError."""
        if not is_file(self.home.record):
            return None
        return Agent.model_validate_json(read_bytes(self.home.record))

    def set_agent_aside(self) -> Path:
        """Rename a damaged record; return its new path."""
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        aside = self.home.record.with_name(f"{self.home.record.name}.corrupt-{stamp}")
        move(self.home.record, aside)
        return aside

    def save_agent(self, agent: Agent) -> None:
        replace_file(self.home.record, agent.model_dump_json(indent=2) + "\n")

    def renew_goal(self, old: str, new: str) -> None:
        """Write a new run's goal into GOAL.md, unless a person has edited the file."""
        if read_shown(self.home.goal) == goal_text(old):
            replace_file(self.home.goal, goal_text(new))

    def soul(self) -> str:
        return read_shown(self.home.soul)

    def memory(self) -> str:
        """Return the current long-term memory: MEMORY.md, index and the last days."""
        return memory_text(self.home, SHOWN_OF_MEMORY)

    def goal(self) -> str:
        """Return the main objective: the goal, or the text that a person has put in its place."""
        return read_shown(self.home.goal)

    def goal_for_prompt(self, goal: str) -> str:
        """Return the text of GOAL.md for a prompt; the first message of a run has its `goal`."""
        text = self.goal()
        return GOAL_TOLD if text == goal_text(goal) else text.strip()

    def write_spec(self, node: WorkNode) -> None:
        """Write the specification and the refs of a node, unless the files have this content."""
        home = self.run.node(node.folder)
        refs = json.dumps(node.refs, ensure_ascii=False, indent=2)
        spec = f"# {node.name}\n\n{node.task.strip()}\n{_checks(node)}"
        for path, text in ((home.spec, spec), (home.refs, f"{refs}\n")):
            if is_missing(path) or (node.update.number and read_shown(path) != text):
                replace_file(path, text, is_synced=False)

    def write_status(self, board: Board, node: WorkNode) -> None:
        home = self.run.node(node.folder)
        row = node_row(board, node)
        text = f"{node.status.upper()}\n\nWorker: {row['worker'] or 'none yet'}\n"
        if row["summary"]:
            text += f"\n{row['summary']}\n"
        replace_file(home.status, text + _evidence(node), is_synced=False)

    def sizes_at(self, path: str) -> dict[str, int]:
        """Return the sizes of at most MOST_REF_FILES published files, by name; {} if unreadable."""
        place = self.run.path / path
        try:
            if is_folder(place):
                files = files_below(place)[:MOST_REF_FILES]
                return {spelled(name): entry.size for name, entry in files}
            status = status_of(place)
        except OSError:
            return {}
        return {} if status is None else {place.name: status.st_size}

    def result_of(self, node: WorkNode) -> Any:
        """Return the value in a node's `result.json`; None if there is no readable file."""
        path = self.run.node(node.folder).published / RESULT_FILE
        try:
            data, size = read_part(path, 0, MOST_RESULT_BYTES)
            return None if size > MOST_RESULT_BYTES else read_strict(data.decode())
        except (OSError, ValueError):
            return None

    def write_failure(self, node: WorkNode, worker: str, lost: ChildFailed) -> str:
        """Write why the supervisor gave up a node's process; return the notes' path in the run.

        The worker's files in `scratch/` and its conversation stay unchanged.
        """
        path = self.run.node(node.folder).failure_notes
        replace_file(path, failure_notes(node, worker, lost))
        return str(path.relative_to(self.run.path))

    def write_plan(self, board: Board) -> None:
        """Update the board's part of `_plan.md`; write nothing before the run has begun.

        The coordinator's own text in the file is kept.
        """
        if board.run is not None:
            copy = plan_copy(self.run.path)
            page = plan_page(board)
            text = with_own_text(page, read_shown(self.run.plan), read_shown(copy))
            has_own_text = text != with_own_text(page, "", "")
            replace_file(self.run.plan, text, is_synced=has_own_text)
            replace_file(copy, text, is_synced=False)

    def write_output(self, summary: str) -> None:
        replace_file(self.run.output, f"{summary.rstrip()}\n")

    def log_day(self, title: str, text: str, now: float, about: str = "") -> None:
        """Add a section to the day's log in memory/, unless a log has a section with its title."""
        heading, day = f"## {title}\n", iso_date(now)
        with locked(self.home):
            logs = (read_shown(self.home.memory / name) for name in daily_logs(self.home))
            if not any(heading in log for log in logs):
                path = self.home.memory / f"{day}.md"
                log = read_shown(path) or f"# {day}\n"
                replace_file(path, f"{log}\n{heading}\n{iso(now)}{about}\n\n{text.strip()}\n")


def goal_text(goal: str) -> str:
    return f"# Goal\n\n{goal}\n"


def _checks(node: WorkNode) -> str:
    if not node.checks:
        return ""
    listed = "\n".join(f"- `{check}`" for check in node.checks)
    where = "These must succeed in its worker's folder before it is published:"
    return f"\n## Checks\n\n{where}\n\n{listed}\n"


def _evidence(node: WorkNode) -> str:
    evidence = node.evidence
    if evidence is None:
        return ""
    checks = [
        f"- `{one.command}`: exit code {one.exit_code}"
        f"{'' if one.is_walled else ', without a sandbox'}"
        for one in evidence.checks
    ]
    sums = [f"    {digest}  {path}" for path, digest in evidence.artifacts.items()]
    why = node.update.accepted
    accepted = [f"- failures are accepted by the coordinator: {why}"] if why else []
    lines = [
        "",
        "## Evidence",
        "",
        *checks,
        *accepted,
        "",
        *sums,
        "",
        f"SHA-256 of all: {evidence.digest}",
    ]
    return "\n".join(lines) + "\n"


def failure_notes(node: WorkNode, worker: str, lost: ChildFailed) -> str:
    """Return the known facts about a worker's failure, for the next plan."""
    lines = [
        f"# Why '{node.name}' failed",
        "",
        f"The process of its worker, {worker}, was given up after attempt {node.attempt}: "
        f"{lost.cause}.",
    ]
    why = lost.why
    if why is not None:
        lines += ["", f"- Last end: {why.text}", f"- Kind: {why.kind}"]
        if why.step:
            lines.append(f"- It was doing: {why.step}")
        lines.append(f"- Its incarnation: {lost.incarnation}")
        if why.stderr:
            lines += ["", "The last it said:", ""]
            lines += [f"    {line}" for line in why.stderr.splitlines()]
    lines += ["", "Its files so far are in `scratch/`."]
    return "\n".join(lines) + "\n"


def coordinator_belongings(task: str, board: Board, files: AgentFiles) -> CompactionContext:
    """Return the contents of a coordinator's new conversation; `task` is its original task."""
    run = files.run
    own = [one for one in entries(run.path, MOST_FILES) if one.name not in OWN_FOLDERS]
    folders = [listing(run.path / one.name, f"{one.name}/") for one in own if one.kind == "folder"]
    written = [f"- {one.name} ({one.size} bytes)" for one in own if one.kind == "file"]
    return CompactionContext(
        task=task,
        files=(
            SummarySection("The current board", board_lines(board)),
            SummarySection("Your memory", files.memory()),
            SummarySection("The plan", read_texts((run.plan,))),
            SummarySection("Files of this run", "\n".join([*written, *filter(None, folders)])),
        ),
    )


def board_lines(board: Board) -> str:
    """Return the current board as text, one line for each node or worker."""
    nodes = [
        f"- node {json.dumps(node_row(board, node), ensure_ascii=False)} in nodes/{node.folder}/"
        for node in board.nodes.values()
    ]
    workers = [
        f"- worker {json.dumps(worker_row(board, worker), ensure_ascii=False)}"
        for worker in board.workers.values()
        if worker.status != "stopped"
    ]
    return "\n".join([*workers, *nodes]) or "(empty)"

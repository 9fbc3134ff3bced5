"""AgentRecord: `agent.json`, the file from which other processes read the state of an agent."""

from actors.coordinator.files import AgentFiles
from actors.entity.args import CoordinatorArgs
from actors.runtime.runtime import Runtime
from agiraph.board import events as e
from agiraph.board.board import Board
from agiraph.core.clock import iso_date
from agiraph.core.models import ENDED_AGENT, Agent
from agiraph.core.naming import cut
from agiraph.core.specs import ResolvedRunSpec

RESULT_IN_MEMORY = 2000


class AgentRecord:
    """Updates the record from the board, and writes the results at the end of a run.

    An agent without a record is new: its record begins with the arguments of its first run, and is
    completed from the agent's journals if they exist.
    """

    def __init__(self, runtime: Runtime, files: AgentFiles, args: CoordinatorArgs) -> None:
        self._runtime = runtime
        self._files = files
        self._args = args
        found = self._load()
        self._is_new = found is None
        self.agent: Agent = found or args.agent.model_copy(update={"plan": None})

    def _load(self) -> Agent | None:
        """Return the record; a damaged record is renamed and computed again from the journals."""
        try:
            return self._files.load_agent()
        except ValueError as error:
            aside = self._files.set_agent_aside()
            self._runtime.log.warning(
                "the agent's record was damaged: it is written again from its journals",
                aside=str(aside),
                reason=str(error),
            )
            return None

    @property
    def today(self) -> str:
        """The date on which the run began: prompts contain it, so it must not change."""
        began_at = self._args.began_at or self._args.agent.created_at
        return iso_date(began_at)

    @property
    def has_ended(self) -> bool:
        return self.agent.status in ENDED_AGENT

    def renew_goal(self) -> None:
        """Write the goal of a new run into GOAL.md, before a prompt is made of it."""
        if self.agent.run != self._args.run:
            self._files.renew_goal(self.agent.goal, self._args.agent.goal)

    def open(self) -> None:
        """Write the arguments of a run that has just begun into the record."""
        if self.agent.run != self._args.run:
            self._begin_run()
        if self.agent.spec != (spec := _recorded(self._args.agent)):
            self._change(**dict(spec))  # before any model call: the broker reads it here
        if self._is_new:
            self._change(run=self._args.run, status="working")

    def _begin_run(self) -> None:
        """Write the new run into the record, and remove all fields of the previous run."""
        self._change(
            run=self._args.run,
            status="working",
            **dict(_recorded(self._args.agent)),
            result=None,
            reason=None,
            incomplete=(),
            current_stage=None,
            standstill=None,
            node_count=0,
            nodes_ended=0,
            worker_count=0,
        )

    def follow(self, board: Board, event: e.BoardEvent) -> None:
        if board.standstill != self.agent.standstill:
            self._change(standstill=board.standstill)
        match event:
            case e.RunFinished(summary=summary, incomplete=incomplete):
                self._files.write_output(summary)
                self._end(summary, event.ts)
                ended = {"result": summary, "incomplete": incomplete}
                self._change(status="completed", **ended, **_counts(board))
            case e.RunStopped(status=status, reason=reason, summary=summary):
                if summary is not None:
                    self._files.write_output(summary)
                self._end(f"{status}: {reason}", event.ts)
                self._change(status=status, reason=reason, result=summary, **_counts(board))
            case e.RunReopened():
                self._change(status="working", reason=None, result=None, **_counts(board))
            case e.CycleEnded(cycle=cycle, next_at=next_at):
                self._change(status="idle", cycle=cycle, next_cycle_at=next_at, **_counts(board))
            case e.CycleStarted(cycle=cycle):
                self._change(status="working", cycle=cycle, next_cycle_at=None)
            case _:
                pass

    def count(self, board: Board) -> None:
        """Write the counts that listings show for a run's board, if they have changed."""
        counts = _counts(board)
        if counts != self.agent.model_dump(include=set(counts)):
            self._change(**counts)

    def _end(self, outcome: str, now: float) -> None:
        title, about = f"Run {self._args.run}", f" Goal: {self.agent.goal}"
        self._files.log_day(title, cut(outcome, RESULT_IN_MEMORY), now, about)

    def _change(self, **changes: object) -> None:
        changed = {**changes, "updated_at": self._runtime.clock.now()}
        self.agent = self.agent.model_copy(update=changed)
        self._files.save_agent(self.agent)


def _recorded(agent: Agent) -> ResolvedRunSpec:
    """Return the terms of an agent's run as the record contains them."""
    return agent.spec.model_copy(update={"plan": None})


def _counts(board: Board) -> dict[str, object]:
    """Return the counts that listings show for a run's board."""
    return {
        "node_count": len(board.nodes),
        "nodes_ended": sum(node.has_ended for node in board.nodes.values()),
        "worker_count": len(board.workers),
        "current_stage": board.stages[-1].name if board.stages else None,
    }

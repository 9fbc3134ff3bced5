"""RunPlanner: the plan of a run whose nodes are planned before its first step.

One model call writes it, and at most two more calls correct an invalid plan. The draft is in the
run's `_plan.yaml`, where a person who approves it may edit it first; the approved plan is a record
of the conversation. The id of each call is derived from its question, so a restarted process does
not pay again for an answered call, and does not request a draft that is in the file.
"""

import re
from typing import Final

from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext
from actors.coordinator.runs.start import fill_board, planning_of
from actors.entity.entity import Entity
from actors.entity.questions import ask, question_id
from agiraph.agent.loop import PartialAnswer
from agiraph.agent.prompts import goal_turn, render
from agiraph.agent.records import ModelAnswered, PlanMade
from agiraph.board import commands as c
from agiraph.board.plans.graph import Graph
from agiraph.board.plans.planner import SCHEMA, plan_of_answer
from agiraph.board.plans.reading import MOST_CHARACTERS
from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.ids import derived_id
from agiraph.core.turns import AssistantTurn, Turn, UserTurn
from agiraph.storage.files import is_file, read_shown, replace_file

CORRECTIONS: Final = 2
OPTIONS: Final = ("approve", "refuse")
APPROVED: Final = ("approve", "yes", "y", "ok")
REFUSED: Final = ("refuse", "no", "n")
TREE_WIDTH: Final = 100
DRAFT: Final = re.compile(r"# draft (\d{1,6}) of the plan of this run\n")


class RunPlanner:
    """Makes the plan of one run, if the run needs one."""

    def __init__(self, context: CoordinatorContext, entity: Entity, board: BoardService) -> None:
        self._context = context
        self._entity = entity
        self._board_service = board
        self._file = context.files.run.plan_file
        self._planning = planning_of(context.spec, context.runtime.config)
        if context.spec.approve_plan and context.spec.plan is None and self._draft():
            # The answer may have arrived before the question is asked again.
            entity.messenger.expect(question_id(context.runtime.address, self._question))

    async def make(self) -> str:
        """Put the plan on the board; end a run that was only to be planned.

        Returns the reason why the run fails, or ''. Raises ModelFailure.
        """
        context, terms = self._context, self._context.spec
        is_open = context.spec.plan is None and self._board_service.board.is_running
        if self._planning == "dynamic" or not is_open:
            return ""
        context.show("busy", "planning")
        try:
            text = self._draft() or await self._write()
            if terms.plan_only:
                self._say("The plan is written.")
                self._board_service.execute(c.FinishRun(DRAFT.sub("", text)))
                return ""
            plan = await self._approved(text) if terms.approve_plan else text
        except Refused as error:
            self._say("There is no plan.")
            return f"no plan was made: {error}"
        if plan is None:
            self._say("The plan was refused.")
            return "its plan was refused"
        if not terms.approve_plan:
            await self._entity.messenger.tell_human(f"The plan:\n{_tree(plan)}")
        context.conversation.append(PlanMade(text=plan, ts=context.now()))
        context.args = context.args.model_copy(update={"plan": plan})
        return fill_board(self._board_service, plan) or ""

    def _say(self, text: str) -> None:
        """Answer the goal in the model's place: an ended run makes no call."""
        if self._context.transcript.has_news:
            self._context.conversation.append(ModelAnswered(text=text, ts=self._context.now()))

    def _draft(self) -> str:
        """Return the current plan file, '' if there is none."""
        return read_shown(self._file, MOST_CHARACTERS) if is_file(self._file) else ""

    @property
    def _number(self) -> int:
        """The number of the draft in the file, from its first line."""
        found = DRAFT.match(self._draft())
        return int(found[1]) if found else 1

    @property
    def _question(self) -> str:
        """The key of the question whether to follow the draft; it is the same after a restart."""
        return f"plan.{self._context.run}.{self._number}"

    def _keep(self, text: str, number: int) -> str:
        """Write a draft into the file, and return it."""
        written = f"# draft {number} of the plan of this run\n{DRAFT.sub('', text)}"
        replace_file(self._file, written)
        return written

    async def _write(self, *more: Turn) -> str:
        """Return the plan that the model writes; `more`: an earlier draft, the requested changes.

        Raises ModelFailure.
        """
        context, settings = self._context, self._context.runtime.config.run
        agent = context.args.agent
        turns: list[Turn] = [UserTurn(content=goal_turn(agent.goal, context.spec.input)), *more]
        system = render("planner", planning=self._planning, max_nodes=settings.max_nodes)
        asked = {"system": system, "tools": (), "response_schema": SCHEMA}
        problem = ""
        for _ in range(1 + CORRECTIONS):
            request = self._entity.request().model_copy(update={**asked, "turns": tuple(turns)})
            about = f"plan.{derived_id(*(turn.model_dump_json() for turn in turns))}"
            response = await self._entity.think(request, PartialAnswer(), about)
            answer = response.text or ""
            try:
                text = plan_of_answer(answer, self._planning, agent.goal, settings.max_nodes)
            except InvalidInput as error:
                problem = str(error)
                turns += [
                    AssistantTurn(text=answer or "(nothing)"),
                    UserTurn(content=_wrong(problem)),
                ]
                continue
            return self._keep(text, self._number + 1 if more else 1)
        raise InvalidInput(f"answer {1 + CORRECTIONS} of the model cannot be followed: {problem}")

    async def _approved(self, text: str) -> str | None:
        """Return the plan as the human approves it, None if it is refused.

        An answer that neither approves nor refuses is a change for the planner to make.
        """
        while True:
            said = await self._ask(text)
            if said is None or said.casefold() in REFUSED:
                return None
            if said.casefold() not in APPROVED:
                wish = UserTurn(content=f"[Human]: Change the plan: {said}")
                text = await self._write(AssistantTurn(text=text), wish)
            elif self._problem(text := self._draft()):
                text = self._keep(text, self._number + 1)
            else:
                return text

    def _problem(self, text: str) -> str:
        """Return the reason why a draft cannot be followed, '' if it is valid."""
        try:
            Graph.parse(text, str(self._file))
        except InvalidInput as error:
            return f"It cannot be followed unchanged:\n{error}"
        return ""

    async def _ask(self, text: str) -> str | None:
        """Return the human's answer about a draft, None if there is no answer in time."""
        question = (
            f"Shall the team follow this plan?\n\n{self._problem(text) or _tree(text)}\n\n"
            f"It is in {self._file}, where it may be edited first. Any other answer than approve "
            "or refuse is what is to be changed."
        )
        key = self._question
        identity = question_id(self._context.runtime.address, key)
        body = self._context.question(identity, question, OPTIONS)
        await ask(self._context.runtime, body, key)
        answered = await self._entity.messenger.answer_to(identity, "asks: approve the plan?")
        return answered.answer.strip() if answered.outcome == "answered" else None


def _tree(text: str) -> str:
    return Graph.parse(text).to_tree(TREE_WIDTH)


def _wrong(problem: str) -> str:
    return f"[Runtime]: That cannot be followed:\n{problem}\nAnswer with the whole plan again."

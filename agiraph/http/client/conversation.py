"""Calls about what the person says and is told: texts, questions, approvals, channels."""

from typing import Literal

from agiraph.core.ids import QuestionId
from agiraph.core.models import DeliveryMode, QuestionStatus
from agiraph.http import api
from agiraph.http.client.call import (
    ApiCall,
    ApiMethod,
    agent_path,
    delete,
    get,
    post,
    repeatable,
    segment,
)

LATEST = 2**53
"""As `before`: the last page there is."""


class ConversationCalls:
    """Texts, questions and approvals, and the channels by which the person is notified."""

    @ApiMethod
    def send(
        self,
        agent: str,
        message: str,
        *,
        to: str | None = None,
        mode: DeliveryMode = "steer",
        key: str | None = None,
        in_reply_to: str | None = None,
    ) -> ApiCall[api.SentView]:
        """Send text to the coordinator (default), a worker, or `*`; returns once it is journaled.

        `in_reply_to` is the id of the message that it answers; it then goes to who wrote that. 404
        for an unknown receiver, naming the known.
        """
        body = api.SendTextRequest(message=message, to=to, mode=mode, in_reply_to=in_reply_to)
        return post(agent_path(agent, "send"), api.SentView, body, key=key)

    @ApiMethod
    def nudge(self, agent: str, message: str, *, key: str | None = None) -> ApiCall[api.SentView]:
        """Put an instruction into the running agent."""
        return post(
            agent_path(agent, "nudge"), api.SentView, api.NudgeRequest(message=message), key=key
        )

    @ApiMethod
    def conversation(
        self,
        agent: str,
        *,
        after: int = 0,
        before: int | None = None,
        entity: str | None = None,
        limit: int = 100,
    ) -> ApiCall[api.ConversationPageView]:
        """Return the thread with an agent's entities, questions and answers among it.

        The first messages after `after`; with `before`, the last ones before that (`LATEST`: the
        last of all). `entity`: only what was said to or by the one of that name.
        """
        path = agent_path(agent, "conversation")
        return get(
            path, api.ConversationPageView, after=after, before=before, entity=entity, limit=limit
        )

    @ApiMethod
    def inbox(self) -> ApiCall[list[api.InboxView]]:
        """Return how many messages the person has not read, agent by agent, oldest agent first."""
        return get("/inbox", list[api.InboxView])

    @ApiMethod
    def mark_read(self, agent: str, seq: int | None = None) -> ApiCall[api.InboxView]:
        """Record that the person has read an agent's conversation up to `seq`, by default all."""
        path = agent_path(agent, "read")
        return post(path, api.InboxView, api.MarkReadRequest(seq=seq))

    @ApiMethod
    def transcript(
        self,
        agent: str,
        entity: str = "coordinator",
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 100,
        run: str | None = None,
    ) -> ApiCall[api.TranscriptPageView]:
        """Return what one entity heard, said and ran, paged as the conversation is.

        `entity` is the coordinator or a worker of the run, by name or id; 404 lists them.
        """
        path = agent_path(agent, "transcript")
        return get(
            path,
            api.TranscriptPageView,
            entity=entity,
            after=after,
            before=before,
            limit=limit,
            run=run,
        )

    @ApiMethod
    def messages(
        self,
        agent: str,
        *,
        after: int = 0,
        limit: int = 1000,
        entity: str | None = None,
        run: str | None = None,
    ) -> ApiCall[list[api.MessageView]]:
        """Return the message log of a run, from the message after `after` on.

        `entity`: only what was said to or by the one of that name.
        """
        path = agent_path(agent, "messages")
        return get(path, list[api.MessageView], after=after, limit=limit, entity=entity, run=run)

    @ApiMethod
    def respond(
        self,
        agent: str,
        response: str,
        *,
        question_id: str | None = None,
        by: str | None = None,
        via: str | None = None,
        key: str | None = None,
    ) -> ApiCall[api.QuestionView]:
        """Answer an agent's question, by default its only open one.

        409 if it was answered already (by whom, when, from where) or if several are open.
        """
        wanted = QuestionId(question_id) if question_id else None
        body = api.RespondRequest(response=response, question_id=wanted, by=by, via=via)
        return post(agent_path(agent, "respond"), api.QuestionView, body, key=key)

    @ApiMethod
    def questions(self, *, status: QuestionStatus | None = None) -> ApiCall[list[api.QuestionView]]:
        """Return the questions to the human, oldest first: those in one status, or of every one.

        All open ones are among them, of the others the newest 1000.
        """
        return get("/questions", list[api.QuestionView], status=status)

    @ApiMethod
    def answer(
        self,
        question_id: str,
        response: str,
        *,
        by: str | None = None,
        via: str | None = None,
        key: str | None = None,
    ) -> ApiCall[api.QuestionView]:
        """Answer one question by its id; 409 names who answered it before, when and from where.

        `by` is who answers (default: human), `via` the channel it came over (default: api).
        """
        path = f"/questions/{segment(question_id)}/respond"
        return post(
            path, api.QuestionView, api.AnswerRequest(answer=response, by=by, via=via), key=key
        )

    @ApiMethod
    def dead_letters(self) -> ApiCall[list[api.DeadLetterView]]:
        """Return the messages that were set aside, oldest first."""
        return get("/dead", list[api.DeadLetterView])

    @ApiMethod
    def retry_dead_letter(self, letter: str) -> ApiCall[api.DeadLetterView]:
        """Send a dead letter back to its receiver; 404 lists the known."""
        return post(f"/dead/{segment(letter)}/retry", api.DeadLetterView)

    @ApiMethod
    def approvals(self, agent: str | None = None) -> ApiCall[list[api.ApprovalView]]:
        """Return what "allow always" has allowed, to one agent or to all, oldest first."""
        return get("/approvals", list[api.ApprovalView], agent=agent)

    @ApiMethod
    def revoke_approval(self, approval: str) -> ApiCall[api.ApprovalView]:
        """Take an approval back; 404 lists those that stand."""
        return delete(f"/approvals/{segment(approval)}", api.ApprovalView)

    @ApiMethod
    def channels(self) -> ApiCall[list[api.ChannelView]]:
        """Return every channel and how it fares."""
        return get("/channels", list[api.ChannelView])

    @ApiMethod
    def test_channel(self, channel: str) -> ApiCall[api.ChannelTestView]:
        """Send a test message by a channel; the answer tells how it went. 404 lists the known."""
        return post(f"/channels/{segment(channel)}/test", api.ChannelTestView)

    @ApiMethod
    def deliveries(
        self, *, status: Literal["waiting", "dead"] | None = None
    ) -> ApiCall[list[api.DeliveryView]]:
        """Return what has yet to go out and what was given up, oldest first."""
        return get("/deliveries", list[api.DeliveryView], status=status)

    @ApiMethod
    def retry_delivery(self, delivery: str) -> ApiCall[api.DeliveryView]:
        """Have a delivery that was given up tried again; 404 lists the known."""
        return post(f"/deliveries/{segment(delivery)}/retry", api.DeliveryView)

    @ApiMethod
    def me(self) -> ApiCall[api.PresenceView]:
        """Return whether the person is here."""
        return get("/me", api.PresenceView)

    @ApiMethod
    def set_me(self, presence: api.SetPresenceRequest) -> ApiCall[api.PresenceView]:
        """Say that the person leaves or is back; 422 for an unknown channel or a time gone by."""
        return repeatable("PUT", "/me", api.PresenceView, presence)

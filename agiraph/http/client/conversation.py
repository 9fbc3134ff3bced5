"""Calls for the person's conversations: texts, questions, approvals, channels."""

from collections.abc import Sequence
from typing import Literal

from agiraph.core.models import DeliveryMode, QuestionStatus
from agiraph.http import api
from agiraph.http.client.call import ApiCall, ApiMethod, agent_path, call, reader

LATEST = 2**53
"""As `before`: the last page."""

UPLOAD_SECONDS = 600.0


class ConversationCalls:
    """Texts, questions and approvals, and the person's notification channels."""

    @call("POST /agents/{agent}/send", body=api.SendTextRequest)
    def send(
        self,
        agent: str,
        message: str,
        *,
        to: str | None = None,
        mode: DeliveryMode = "steer",
        key: str | None = None,
        in_reply_to: str | None = None,
        attachments: Sequence[str] = (),
    ) -> api.SentView:
        """Send text to the coordinator (default), a worker, or `*`; returns once it is journaled.

        `in_reply_to` is the id of the message that it answers; the text is then sent to that
        message's author. `attachments` are the paths that `attach` returned. 404 for an unknown
        receiver, naming the known.
        """

    @ApiMethod
    def attach(self, agent: str, name: str, content: bytes) -> ApiCall[api.AttachmentView]:
        """Give a file to the entities of the current run; the answer's `path` is for `send`.

        Nothing is overwritten: a second `x.csv` becomes `x-2.csv`; the same file is stored once.
        """
        path = agent_path(agent, "attachments", name)
        headers = {"Content-Type": "application/octet-stream"}
        read = reader(api.AttachmentView)
        return ApiCall(
            "PUT", path, read, timeout_seconds=UPLOAD_SECONDS, headers=headers, content=content
        )

    @call("POST /agents/{agent}/nudge", body=api.NudgeRequest)
    def nudge(self, agent: str, message: str, *, key: str | None = None) -> api.SentView:
        """Send an instruction to the running agent's coordinator."""

    @call("GET /agents/{agent}/conversation")
    def conversation(
        self,
        agent: str,
        *,
        after: int = 0,
        before: int | None = None,
        entity: str | None = None,
        limit: int = 100,
        search: str = "",
    ) -> api.ConversationPageView:
        """Return the thread with an agent's entities, including questions and answers.

        The first messages after `after`; with `before`, the last messages before that (`LATEST`:
        the last of all). `entity`: only messages to or from the entity of that name; `search`: only
        messages that contain these words.
        """

    @call("GET /inbox")
    def inbox(self) -> list[api.InboxView]:
        """Return the numbers of unread messages to the person, by agent, oldest first."""

    @call("POST /agents/{agent}/read", body=api.MarkReadRequest)
    def mark_read(
        self, agent: str, seq: int | None = None, *, entity: str | None = None
    ) -> api.InboxView:
        """Record that the person has read an agent's conversation up to `seq`, by default all.

        With `entity`, a name or an id: only the messages of that entity.
        """

    @call("GET /agents/{agent}/transcript")
    def transcript(
        self,
        agent: str,
        entity: str = "coordinator",
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 100,
        search: str = "",
        step: str = "",
        run: str | None = None,
    ) -> api.TranscriptPageView:
        """Return an entity's received texts, model texts and tool calls, paged like `conversation`.

        `entity` is the coordinator or a worker of the run, by name or id; 404 lists them. `search`:
        only entries with these words in the text or in the arguments of the calls; `step`: only the
        start and the end of the tool call of this step (`ThreadCallView.step`).
        """

    @call("GET /agents/{agent}/thread")
    def thread(
        self,
        agent: str,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 100,
        entity: str | None = None,
        kind: Sequence[api.ThreadKind] = (),
        search: str = "",
    ) -> api.ThreadPageView:
        """Return the thread with an agent: all messages and actions, each once.

        The entries that have changed after event `after`; with `before`, the last entries before
        that (`LATEST`: the last of all). `entity`: only the conversation with the entity of that
        name; `kind`: only entries of these kinds; `search`: only entries that contain these words.
        """

    @call("GET /agents/{agent}/messages")
    def messages(
        self,
        agent: str,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 1000,
        entity: str | None = None,
        other: str | None = None,
        run: str | None = None,
    ) -> list[api.MessageView]:
        """Return the message log of a run, from the message after `after` on.

        With `before`: the last messages before that. `entity`: only messages to or from the entity
        of that name; with `other`: only messages between these two entities.
        """

    @call("POST /agents/{agent}/respond", body=api.RespondRequest)
    def respond(
        self,
        agent: str,
        response: str,
        *,
        question_id: str | None = None,
        by: str | None = None,
        via: str | None = None,
        key: str | None = None,
    ) -> api.QuestionView:
        """Answer an agent's question, by default its only open one.

        409 if the question was answered already (names answerer, time and channel) or if several
        are open.
        """

    @call("GET /questions")
    def questions(self, *, status: QuestionStatus | None = None) -> list[api.QuestionView]:
        """Return the questions to the person, oldest first: with one status, or with any.

        All open questions are included, of the others the newest 1000.
        """

    @call("POST /questions/{question_id}/respond", body=api.AnswerRequest)
    def answer(
        self,
        question_id: str,
        response: str,
        *,
        by: str | None = None,
        via: str | None = None,
        key: str | None = None,
    ) -> api.QuestionView:
        """Answer one question by its id; 409 names the first answerer, the time and the channel.

        `by` is the answerer (default: human), `via` the channel (default: api).
        """

    @call("GET /dead")
    def dead_letters(self) -> list[api.DeadLetterView]:
        """Return the messages that were set aside, oldest first."""

    @call("POST /dead/{letter}/retry")
    def retry_dead_letter(self, letter: str) -> api.DeadLetterView:
        """Send a dead letter back to its receiver; 404 lists the known dead letters."""

    @call("GET /approvals")
    def approvals(self, agent: str | None = None) -> list[api.ApprovalView]:
        """Return the permissions of "allow always", of one agent or of all, oldest first."""

    @call("DELETE /approvals/{approval}")
    def revoke_approval(self, approval: str) -> api.ApprovalView:
        """Revoke a permission; 404 lists the permissions in force."""

    @call("GET /channels")
    def channels(self) -> list[api.ChannelView]:
        """Return every channel with its statistics."""

    @call("POST /channels/{channel}/test")
    def test_channel(self, channel: str) -> api.ChannelTestView:
        """Send a test message by a channel and return the outcome; 404 lists the channels."""

    @call("GET /deliveries")
    def deliveries(
        self, *, status: Literal["waiting", "dead"] | None = None
    ) -> list[api.DeliveryView]:
        """Return the waiting and the abandoned deliveries, oldest first."""

    @call("POST /deliveries/{delivery}/retry")
    def retry_delivery(self, delivery: str) -> api.DeliveryView:
        """Retry a delivery that was given up; 404 lists the known deliveries."""

    @call("GET /me")
    def me(self) -> api.PresenceView:
        """Return whether the person is present."""

    @call("PUT /me")
    def set_me(self, presence: api.SetPresenceRequest) -> api.PresenceView:
        """Set whether the person is away; 422 for an unknown channel or a past time."""

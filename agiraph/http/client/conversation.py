"""Calls for talking with an agent's entities, and for what they said."""

from agiraph.core.models import DeliveryMode
from agiraph.http.api import (
    ConversationPageView,
    MessageView,
    NudgeRequest,
    SendTextRequest,
    SentView,
    TranscriptPageView,
)
from agiraph.http.client.call import ApiCall, ApiMethod, get, named, of_agent, post

LATEST = 2**53
"""As `before`: the last page there is."""


class ConversationCalls:
    """What is said to and by the entities of an agent."""

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
    ) -> ApiCall[SentView]:
        """Send text to the coordinator (default), a worker, or `*`; returns once it is journaled.

        `in_reply_to` is the id of the message that it answers; it then goes to who wrote that. 404
        for an unknown receiver, naming the known.
        """
        body = SendTextRequest(message=message, to=to, mode=mode, in_reply_to=in_reply_to)
        return post(of_agent(agent, "send"), body, SentView, key=key)

    @ApiMethod
    def nudge(self, agent: str, message: str, *, key: str | None = None) -> ApiCall[SentView]:
        """Put an instruction into the running agent."""
        return post(of_agent(agent, "nudge"), NudgeRequest(message=message), SentView, key=key)

    @ApiMethod
    def conversation(
        self,
        agent: str,
        *,
        after: int = 0,
        before: int | None = None,
        entity: str | None = None,
        limit: int = 100,
    ) -> ApiCall[ConversationPageView]:
        """Return the thread with an agent's entities, questions and answers among it.

        The first messages after `after`; with `before`, the last ones before that (`LATEST`: the
        last of all). `entity`: only what was said to or by the one of that name.
        """
        query = named(after=after, before=before, entity=entity, limit=limit)
        return get(of_agent(agent, "conversation"), ConversationPageView, query)

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
    ) -> ApiCall[TranscriptPageView]:
        """Return what one entity heard, said and ran, paged as the conversation is.

        `entity` is the coordinator or a worker of the run, by name or id; 404 lists them.
        """
        query = named(entity=entity, after=after, before=before, limit=limit, run=run)
        return get(of_agent(agent, "transcript"), TranscriptPageView, query)

    @ApiMethod
    def messages(
        self,
        agent: str,
        *,
        after: int = 0,
        limit: int = 1000,
        entity: str | None = None,
        run: str | None = None,
    ) -> ApiCall[list[MessageView]]:
        """Return the message log of a run, from the message after `after` on.

        `entity`: only what was said to or by the one of that name.
        """
        query = named(after=after, limit=limit, entity=entity, run=run)
        return get(of_agent(agent, "messages"), list[MessageView], query)

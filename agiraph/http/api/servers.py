"""Servers of tools by the Model Context Protocol: what they offer, and who may use it."""

from agiraph.http.api.base import ApiView


class ServedToolView(ApiView):
    """One tool. `name` is how models call it; `is_repeatable`: a call may be made twice."""

    name: str
    description: str = ""
    is_repeatable: bool = False


class ToolServerView(ApiView):
    """GET /servers: one server of `mcp.servers`.

    `state` is `unusable` if it could not be used when it was last asked, `unknown` if nobody has
    asked it, else that of its host's process (`ready`, `parked` ...).
    `grant` names who has its tools unasked, `lend` says whether coordinators may give them away.
    `problem` is why it cannot be used; `found_at` None: nobody has asked it yet.
    """

    name: str
    address: str
    state: str
    reached_by: str
    grant: tuple[str, ...] = ()
    lend: bool = True
    tools: tuple[ServedToolView, ...] = ()
    title: str = ""
    problem: str = ""
    found_at: float | None = None

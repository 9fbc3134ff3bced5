"""Reflection: a worker's knowledge of its earlier nodes, and its lessons from the current node."""

import asyncio

from actors.entity.model_client import BrokerModelClient
from actors.worker.files import WorkerFiles
from agiraph.agent.loop import PartialAnswer
from agiraph.agent.prompts import render
from agiraph.agent.transcript import Transcript
from agiraph.core.errors import ModelFailure
from agiraph.core.turns import ModelRequest, UserTurn
from agiraph.storage.files import read_shown

REFLECTION_TOKENS = 600
REFLECTION_SECONDS = 120.0
LONGEST = 4000


async def reflect(model_client: BrokerModelClient, request: ModelRequest) -> str:
    """Ask the model in one turn for its lessons; return "" if it gives none.

    A repetition after a crash has the same id, and is answered without a second model call.
    """
    question = UserTurn(content=render("reflect"))
    asked = request.model_copy(
        update={
            "turns": (*request.turns, question),
            "max_tokens": min(request.max_tokens, REFLECTION_TOKENS),
        }
    )
    try:
        async with asyncio.timeout(REFLECTION_SECONDS):
            answer = await model_client.think(asked, PartialAnswer(), about="reflect")
    except (ModelFailure, TimeoutError):
        return ""
    return (answer.text or "").strip()[:LONGEST]


def known_before(files: WorkerFiles, limit: int) -> str:
    """Return the text about a worker's earlier nodes, "" before it has completed any.

    Each of memory, notebook and history has its share of `limit` characters; the newest text is
    kept.
    """
    home, entries = files.home, files.history
    if not entries or not limit:
        return ""
    done = "\n".join(f"- {_name(entry)}: {_first_line(entry['summary'])}" for entry in entries)
    return render(
        "known",
        memory=_newest(read_shown(home.memory), limit // 2),
        notebook=_newest(read_shown(home.notebook), limit // 4),
        history=_newest(done, limit // 4),
    )


def still_to_know(files: WorkerFiles, transcript: Transcript, limit: int) -> str:
    """Return the text about earlier nodes for a worker's new node, at most `limit` characters.

    It contains only text that is missing in the conversation: everything if the conversation was
    lost, otherwise the lessons from the last node, which were requested after its end.
    """
    if not transcript.turns or transcript.is_restored:
        return known_before(files, limit)
    last = files.history[-1] if files.history else {}
    learned = last.get("learned", "")
    if not limit or learned in ("", transcript.progress.learned.strip()):
        return ""
    return render("learned", node=_name(last), learned=_newest(learned, limit))


def _name(entry: dict[str, str]) -> str:
    return entry.get("name") or entry["node_id"]


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:200]


def _newest(text: str, limit: int) -> str:
    text = text.strip()
    return text if len(text) <= limit else f"[... cut]\n{text[-limit:]}"

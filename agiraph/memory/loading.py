"""Loading: the part of an agent's memory at the start of its prompt, and when to prune it.

This part is MEMORY.md, the index and the last two daily logs, within a limit; a note replaces the
rest. No rule deletes anything: the agent is asked, at the start of a run or a cycle, to move
lasting knowledge to its place and to remove outdated text.
"""

from agiraph.memory.memory_files import DAILY, MAIN, MemoryFiles
from agiraph.settings.config import MemoryConfig
from agiraph.storage.files import entries, read_shown
from agiraph.storage.home import AgentHome

FULL_SHARE = 0.9
RECENT_DAYS = 2
INDEX = "index.md"
MAIN_SHARE, INDEX_SHARE = 0.5, 0.5


def memory_text(home: AgentHome, limit: int) -> str:
    """Return the start of an agent's memory for its prompt, about `limit` characters at most.

    It contains MEMORY.md, the index and the last daily logs.
    """
    parts = [(MAIN, read_shown(home.memory_file)), (INDEX, read_shown(home.memory / INDEX))]
    recent = [(name, read_shown(home.memory / name)) for name in daily_logs(home)[-RECENT_DAYS:]]
    left = limit
    shown: list[str] = []
    for (name, text), share in zip(parts, (MAIN_SHARE, INDEX_SHARE), strict=True):
        cut = cut_text(text.strip(), int(left * share), name)
        left -= len(cut)
        shown.append(f"## {name}\n\n{cut}" if cut else "")
    logs: list[str] = []
    for name, text in reversed(recent):
        cut = cut_text(text.strip(), left // (len(recent) - len(logs)), name, keeps_end=True)
        left -= len(cut)
        logs.insert(0, f"## {name}\n\n{cut}")
    return "\n\n".join(part for part in (*shown, *logs) if part)


def daily_logs(home: AgentHome) -> list[str]:
    """Return the names of an agent's daily logs, the oldest first."""
    try:
        return [one.name for one in entries(home.memory) if DAILY.fullmatch(one.name)]
    except OSError:
        return []


def cut_text(text: str, limit: int, name: str, *, keeps_end: bool = False) -> str:
    """Return a text cut to about `limit` characters; a note in the result tells that.

    Its beginning is kept, or with `keeps_end` its end. `name` is the memory file, for the note.
    """
    if len(text) <= limit:
        return text
    if keeps_end:
        missing, end = len(text) - max(0, limit), text[len(text) - max(0, limit) :]
        return f'[{missing} characters more before this: memory_read("{name}") ...]\n{end}'
    missing = len(text) - max(0, limit)
    return f'{text[: max(0, limit)]}\n[... {missing} characters more: memory_read("{name}")]'


def maintenance_reasons(home: AgentHome, bounds: MemoryConfig) -> list[str]:
    """Return the reasons to prune the memory, as phrases; [] if there are none."""
    documents = MemoryFiles.of_agent(home, bounds).documents()
    logs = daily_logs(home)
    main, total = len(documents.get(MAIN, "")), sum(len(t.encode()) for t in documents.values())
    reasons = []
    if len(logs) > bounds.keep_days:
        reasons.append(f"it has {len(logs)} daily logs, more than {bounds.keep_days}")
    if main > bounds.main_limit:
        reasons.append(f"{MAIN} has {main} characters, more than {bounds.main_limit}")
    if total > FULL_SHARE * bounds.total_limit:
        reasons.append(f"it has {total} of the {bounds.total_limit} bytes that are possible")
    if len(documents) > FULL_SHARE * bounds.max_files:
        reasons.append(f"it has {len(documents)} of the {bounds.max_files} files that are possible")
    return reasons


def old_logs(home: AgentHome) -> list[str]:
    """Return the daily logs that are no longer in the prompt, oldest first."""
    return daily_logs(home)[:-RECENT_DAYS]

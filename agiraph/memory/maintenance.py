"""Maintenance: when an agent's memory has grown so that it should be distilled and pruned. Pure but
for the disk.

Nothing is thrown away by a rule: the agent is asked, at the beginning of a run or a cycle, to put
what lasts where it belongs and to remove what is out of date.
"""

from agiraph.core.config import MemoryConfig
from agiraph.memory.loading import RECENT_DAYS
from agiraph.memory.memory_files import DAILY, MAIN, MemoryFiles
from agiraph.storage.home import AgentHome

FULL_SHARE = 0.9


def upkeep_reasons(home: AgentHome, bounds: MemoryConfig) -> list[str]:
    """Return why the memory should be put in order, in words; [] if it is."""
    documents = MemoryFiles.of_agent(home, bounds).documents()
    logs = daily_logs(home, bounds)
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


def daily_logs(home: AgentHome, bounds: MemoryConfig) -> list[str]:
    """Return the names of the daily logs, oldest first."""
    return [name for name in MemoryFiles.of_agent(home, bounds).names() if DAILY.fullmatch(name)]


def old_logs(home: AgentHome, bounds: MemoryConfig) -> list[str]:
    """Return the daily logs that a prompt no longer begins with, oldest first."""
    return daily_logs(home, bounds)[:-RECENT_DAYS]

"""What a worker has besides its conversation: its node's assignment, and its files in summary."""

from agiraph.agent.compaction import CompactionContext, SummarySection
from agiraph.agent.listing import listing, read_texts
from agiraph.agent.prompts import assignment_turn
from agiraph.core.models import Assignment
from agiraph.storage.home import NodeHome, WorkerHome


def worker_belongings(
    assignment: Assignment, home: WorkerHome, node: NodeHome
) -> CompactionContext:
    """Return what a worker's new conversation is to tell of."""
    own = read_texts((home.identity, home.memory, home.notebook))
    files = [listing(node.scratch, "scratch/"), listing(node.published, "published/")]
    return CompactionContext(
        task=assignment_turn(assignment),
        files=(
            SummarySection("Your identity, memory and notebook", own),
            SummarySection(
                "The files of your node", "\n".join(filter(None, files)) or "(none yet)"
            ),
        ),
    )

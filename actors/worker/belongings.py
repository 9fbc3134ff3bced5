"""What a worker has besides its conversation: its node's assignment, and its files in summary."""

from agiraph.agent.compaction import Belongings, Section
from agiraph.agent.listing import listing, read_texts
from agiraph.agent.prompts import assignment_turn
from agiraph.models import Assignment
from agiraph.storage.home import NodeHome, WorkerHome


def worker_belongings(assignment: Assignment, home: WorkerHome, node: NodeHome) -> Belongings:
    """Return what a worker's new conversation is to tell of."""
    own = read_texts((home.identity, home.memory, home.notebook))
    files = [listing(node.scratch, "scratch/"), listing(node.published, "published/")]
    return Belongings(
        task=assignment_turn(assignment),
        files=(
            Section("Your identity, memory and notebook", own),
            Section("The files of your node", "\n".join(filter(None, files)) or "(none yet)"),
        ),
    )

"""The facts about this machine: its processors, memory and system, and the labels derived from
them.
"""

import platform

import psutil

from actors.runtime.machine import cores, found_labels
from actors.supervisor.orphan_processes import boot_id
from agiraph import __version__
from agiraph.messages.host import MachineFacts


def machine_facts() -> MachineFacts:
    """Return version, system, Python, cores, memory, labels and boot id of this machine."""
    return MachineFacts(
        version=__version__,
        platform=platform.platform(),
        python=platform.python_version(),
        cores=cores(),
        memory_bytes=psutil.virtual_memory().total,
        labels=found_labels(),
        boot=boot_id(),
    )

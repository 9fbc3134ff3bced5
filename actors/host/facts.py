"""What this machine is: its processors, memory and system, and the labels that follow from it."""

import os
import platform
import shutil
import sys
from pathlib import Path
from typing import Final

import psutil

from actors.supervisor.orphan_processes import boot_id
from agiraph import __version__
from agiraph.messages.host import MachineFacts

PROGRAMS: Final = ("docker", "git")
GPUS: Final = ("/dev/nvidia0", "/dev/kfd")
SYSTEMS: Final = {"darwin": "macos"}


def machine_facts() -> MachineFacts:
    """Return what this machine is now."""
    return MachineFacts(
        version=__version__,
        platform=platform.platform(),
        python=platform.python_version(),
        cores=cores(),
        memory_bytes=psutil.virtual_memory().total,
        labels=found_labels(),
        boot=boot_id(),
    )


def cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def found_labels() -> tuple[str, ...]:
    """Return the labels that this machine has by itself: `linux`, `x86_64`, `has:git`, `gpu`."""
    has_gpu = any(Path(device).exists() for device in GPUS)  # plain: /dev
    return (
        SYSTEMS.get(sys.platform, sys.platform),
        platform.machine().lower(),
        *(f"has:{program}" for program in PROGRAMS if shutil.which(program)),
        *(("gpu",) if has_gpu else ()),
    )

"""Facts about this machine: its processors, and the labels that it has by itself."""

import os
import platform
import shutil
import sys
from pathlib import Path
from typing import Final

PROGRAMS: Final = ("docker", "git")
GPUS: Final = ("/dev/nvidia0", "/dev/kfd")
SYSTEMS: Final = {"darwin": "macos"}


def cores() -> int:
    """Return the number of processors that this process may use."""
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

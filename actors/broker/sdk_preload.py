"""SDK preload: imports the SDK of the service that is called first, before it is called.

It takes a second or more, most of the time between the start of a run and its first model call. So
it happens in a thread, from the start of a broker's process on.
"""

import gc
import importlib
import os
import threading

from agiraph.core.errors import InvalidInput
from agiraph.llm.connect import module_of
from agiraph.llm.registry import load_presets, parse_model


def begin(model: str = "") -> None:
    """Begin to import the SDK that `model` needs, by default that of the first service with a key.

    A model that only the home's own table names, and an unknown one, are left for later.
    """
    module = needed_by(model)
    if module is not None:
        threading.Thread(target=import_sdk, args=(module,), daemon=True).start()


def import_sdk(module: str) -> None:
    """Import a module without the collector, which the process enables meanwhile: a fifth of it."""
    usual = gc.get_threshold()
    gc.set_threshold(0)
    try:
        importlib.import_module(module)
    finally:
        gc.freeze()
        gc.set_threshold(*usual)


def needed_by(model: str) -> str | None:
    """Return the module that calls of `model` import, None for one that is not known here."""
    presets = load_presets()
    try:
        name = parse_model(model, presets) if model else None
    except InvalidInput:
        return None
    if name is not None:
        preset = presets[name.provider]
        return module_of(preset, name.name) if preset.is_usable(os.environ) else None
    keyed = (preset for preset in presets.values() if preset.key(os.environ) is not None)
    return next(filter(None, map(module_of, keyed)), None)

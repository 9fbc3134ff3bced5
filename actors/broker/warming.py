"""Warming: the SDK of the service that will be called first, imported before anybody calls it.

It takes a second or more, by far the longest of what stands between a person's word and the first
call of a model. So it happens in a thread, from the first moment of a broker's process on.
"""

import gc
import importlib
import os
import threading

from agiraph.errors import InvalidInput
from agiraph.providers.registry import load_presets, parse_model


def begin(model: str = "") -> None:
    """Begin to import the SDK that `model` needs, by default that of the first service with a key.

    A model that only the home's own table knows is left for later, as is one that cannot be.
    """
    api = api_of(model)
    if api is not None:
        threading.Thread(target=_import, args=(api,), daemon=True).start()


def api_of(model: str) -> str | None:
    """Return the SDK that `model` needs, None for one that needs none or is not known here."""
    presets = load_presets()
    try:
        wanted = [presets[parse_model(model, presets).provider]] if model else presets.values()
    except InvalidInput:
        return None
    apis = (preset.api for preset in wanted if preset.key(os.environ) is not None)
    return next((api for api in apis if api != "script"), None)


def _import(module: str) -> None:
    """Import a module while the collector, which would find nothing, stands still."""
    usual = gc.get_threshold()
    gc.set_threshold(0)
    try:
        importlib.import_module(module)
    finally:
        gc.freeze()
        gc.set_threshold(*usual)

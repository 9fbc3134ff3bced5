"""Custom prompts: check whether the files that a person wrote in `{home}/prompts` can be used."""

from pathlib import Path

from jinja2 import TemplateSyntaxError, meta

from agiraph.agent.prompts import templates_in
from agiraph.core.errors import InvalidInput, unknown
from agiraph.settings.prompt_folder import shipped
from agiraph.settings.yaml_text import read_text

SUFFIX = ".md"


def check_own_prompts(folder: Path) -> None:
    """Raise InvalidInput for a file that is no prompt, no template, or uses unknown variables.

    A missing folder is valid.
    """
    if not folder.is_dir():
        return
    ours = shipped().rglob(f"*{SUFFIX}")  # plain: shipped with the package
    known = {str(path.relative_to(shipped())) for path in ours}
    for path in sorted(folder.rglob(f"*{SUFFIX}")):  # plain: the person's own prompts
        name = str(path.relative_to(folder))
        if name not in known:
            raise unknown("prompt", str(path), sorted(known))
        text = read_text(path)
        if "/" not in name:  # tools' runbooks are plain text
            _check(path, text, shipped() / name)


def _check(path: Path, text: str, original: Path) -> None:
    possible = _names_in(original.read_text(encoding="utf-8"))  # plain: shipped
    try:
        wanted = _names_in(text)
    except TemplateSyntaxError as error:
        raise InvalidInput(f"{path}:{error.lineno}: is no template ({error.message})") from None
    for name in sorted(wanted - possible):
        choices = ", ".join(sorted(possible)) or "none"
        raise InvalidInput(f"{path}: unknown value '{name}' (possible: {choices})")


def _names_in(text: str) -> set[str]:
    return meta.find_undeclared_variables(templates_in(()).parse(text))

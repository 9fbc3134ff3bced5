"""WorkerModels: the models that a person allows for the workers of a run, as one text.

anthropic/claude-haiku-4-5           this model alone
openai/gpt-5-mini,openai/gpt-5       one of these; the first is the default
openai                               the models of this service
any                                  the coordinator chooses, as without a text
<=2.5                                the coordinator chooses; at most $2.50 per million tokens
                                     of output
"""

import re
from dataclasses import dataclass
from typing import Final

from agiraph.core.errors import InvalidInput

ANY: Final = "any"
CEILING: Final = re.compile(r"<=\s*\$?\s*(\d{1,6}(?:\.\d{1,6})?)")
FORMS: Final = "possible: provider/model, several with commas between them, any, or <=DOLLARS"


@dataclass(frozen=True, slots=True)
class WorkerModels:
    """The allowed models by name, () for all models; the highest price, None without a limit.

    `most_usd` is in US dollars per million tokens of output.
    """

    names: tuple[str, ...] = ()
    most_usd: float | None = None

    def why_not(self, model: str) -> str:
        """Return the reason why workers may not use a model, '' if its name is allowed."""
        if not self.names or {model, model.partition("/")[0]} & {*self.names}:
            return ""
        allowed = ", ".join(self.names)
        return f"{model}: the human chose the model of the workers (possible: {allowed})"


def limit_of(text: str | None) -> str:
    """Return the text that limits workers' models, '' if it allows all models (`any`, None)."""
    return "" if text is None or text.strip().casefold() == ANY else text.strip()


def read_worker_models(text: str | None) -> WorkerModels:
    """Return the models that a text allows. Raises InvalidInput for a text of another form."""
    if not (written := limit_of(text)):
        return WorkerModels()
    if written.startswith("<"):
        found = CEILING.fullmatch(written)
        if found is None:
            raise InvalidInput(f"the models of the workers: {written!r} is no price ({FORMS})")
        return WorkerModels(most_usd=float(found[1]))
    names = tuple(dict.fromkeys(name.strip() for name in written.split(",")))
    if not all(names):
        raise InvalidInput(f"the models of the workers: {written!r} has an empty name ({FORMS})")
    return WorkerModels(names)

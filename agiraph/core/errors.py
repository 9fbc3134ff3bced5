"""The errors of the domain, grouped by how the caller can react.

AgiraphError
├── Refused        cannot succeed unchanged: show it to the caller
│   ├── InvalidInput      a name does not exist, or a value is invalid
│   │   └── Ambiguous         a name that matches several things
│   ├── OutOfScope        a path that the entity may not read or write
│   ├── IllegalTransition a board command that is invalid in this state
│   └── OutOfBudget       the money or the tokens are used up
├── Unavailable    can succeed later: retry
└── Corrupt        an Agiraph file has invalid contents
"""

from collections.abc import Collection

LISTED = 10
NEAREST = 5
NEAR = 0.5
GUESSED = 3


class AgiraphError(Exception):
    """Base of all errors that Agiraph raises deliberately; the text can be shown to a person."""


class Refused(AgiraphError):
    """The request cannot succeed without a change."""


class InvalidInput(Refused):
    """A value or name is invalid; the text says which, and lists the valid ones."""


class Ambiguous(InvalidInput):
    """A name that fits several objects, fully or as a prefix; the text lists them."""


class OutOfScope(Refused):
    """This entity may not read or write this path."""


class IllegalTransition(Refused):
    """The board does not allow this command in its current state."""


class OutOfBudget(Refused):
    """The budget of a run, agent or node is too small for the next step."""


class ModelFailure(Refused):
    """A model call failed permanently; `kind` is the FailureKind of the provider interface."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Unavailable(AgiraphError):
    """A required resource is not available now; the same request can succeed later."""


class Corrupt(AgiraphError):
    """A file has invalid contents; the text contains file and offset."""


def unknown(
    kind: str,
    name: str,
    known: Collection[str],
    names: Collection[str] = (),
    *,
    meant: Collection[str] = (),
) -> InvalidInput:
    """Return the error for a `name` that is not in `known`; `kind` is the kind of object.

    The text lists the existing names, or the most similar ones and the number of the others.
    `names` are further candidates for "did you mean"; `meant` are certain suggestions.
    """
    guesses = "' or '".join(meant or nearly(name, [*known, *names]))
    guess = f", did you mean '{guesses}'?" if guesses else ""
    shown = listed(sorted(known) if len(known) <= LISTED else _nearest(name, known), len(known))
    return InvalidInput(f"unknown {kind} '{name}'{guess} (known: {shown})")


def listed(names: Collection[str], of: int | None = None) -> str:
    """Return the first LISTED of `names` and the number of the others, for an error message.

    `of` is the total number if `names` is only a part; None: `names` is complete.
    """
    first = [*names][:LISTED]
    more = (len(names) if of is None else of) - len(first)
    shown = ", ".join(first) or "none"
    return f"{shown} and {more} more" if more > 0 else shown


def nearly(name: str, known: Collection[str]) -> list[str]:
    """Return at most GUESSED names of `known` that are similar to `name`, the most similar first.

    Names are compared without case. A text such as `t-1 (minutes)` counts as two names.
    """
    from difflib import get_close_matches  # only needed after a typing error

    by_folded = {one.strip().casefold(): one for shown in known for one in _names_in(shown)}
    close = get_close_matches(name.strip().casefold(), by_folded, n=GUESSED, cutoff=0.7)
    return [by_folded[one] for one in close]


def _nearest(name: str, known: Collection[str]) -> list[str]:
    """Return the NEAREST of the `known` texts that are most similar to `name`, best first."""
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(b=name.strip().casefold())  # it caches its analysis of b

    def nearness(shown: str) -> tuple[float, str]:
        ratios = []
        for one in _names_in(shown):
            matcher.set_seq1(one.casefold())
            ratios.append(matcher.ratio())
        return -max(ratios) if max(ratios) >= NEAR else 0, shown

    return sorted(known, key=nearness)[:NEAREST]


def _names_in(shown: str) -> list[str]:
    """Return both names of a text such as `t-1 (minutes)`; other texts contain one name."""
    return shown[:-1].split(" (", 1) if shown.endswith(")") else [shown]

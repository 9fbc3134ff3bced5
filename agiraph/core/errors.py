"""The errors of the domain, split by who can do something about them.

AgiraphError
├── Refused        can never succeed as asked: show it to the caller
│   ├── InvalidInput      what was named does not exist or has a wrong value
│   │   └── Ambiguous         a name that may be that of several
│   ├── OutOfScope        a path outside what the entity may read or write
│   ├── IllegalTransition a board command that the state does not allow
│   └── OutOfBudget       the money or the tokens are spent
├── Unavailable    may succeed later: retry
└── Corrupt        a file of ours says what it cannot say
"""

from collections.abc import Collection

LISTED = 10
NEAREST = 5
NEAR = 0.5
GUESSED = 3


class AgiraphError(Exception):
    """Base of every error that Agiraph raises on purpose; its text is fit to show to a person."""


class Refused(AgiraphError):
    """The request can never succeed as it was made."""


class InvalidInput(Refused):
    """A value or name was wrong; the text says which, and what was possible."""


class Ambiguous(InvalidInput):
    """A name that several bear, or that is the beginning of several; the text lists them."""


class OutOfScope(Refused):
    """A path lies outside what this entity may read or write."""


class IllegalTransition(Refused):
    """The board's state does not allow this command."""


class OutOfBudget(Refused):
    """The budget of a run, agent or node does not cover the next step."""


class ModelFailure(Refused):
    """A model call failed for good; `kind` is the provider seam's FailureKind."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Unavailable(AgiraphError):
    """Something needed is not there now; the same request may succeed later."""


class Corrupt(AgiraphError):
    """A file holds what it never should; the text names file and offset."""


def unknown(
    kind: str,
    name: str,
    known: Collection[str],
    names: Collection[str] = (),
    *,
    meant: Collection[str] = (),
) -> InvalidInput:
    """Return the error for a name that does not exist.

    It lists those that do exist; if there are many, the nearest few and how many more. `names` are
    others than the listed ones that may have been meant, `meant` are those that clearly were.
    """
    guesses = "' or '".join(meant or nearly(name, [*known, *names]))
    guess = f", did you mean '{guesses}'?" if guesses else ""
    shown = listed(sorted(known) if len(known) <= LISTED else _nearest(name, known), len(known))
    return InvalidInput(f"unknown {kind} '{name}'{guess} (known: {shown})")


def listed(names: Collection[str], of: int | None = None) -> str:
    """Return the first LISTED names and how many more of them there are, as an error shows them.

    `of` is how many there are, if these are not all.
    """
    first = [*names][:LISTED]
    more = (len(names) if of is None else of) - len(first)
    shown = ", ".join(first) or "none"
    return f"{shown} and {more} more" if more > 0 else shown


def nearly(name: str, known: Collection[str]) -> list[str]:
    """Return the names that are nearly this one, the nearest first."""
    from difflib import get_close_matches  # only who mistyped pays for it

    by_folded = {one.strip().casefold(): one for shown in known for one in _names_in(shown)}
    close = get_close_matches(name.strip().casefold(), by_folded, n=GUESSED, cutoff=0.7)
    return [by_folded[one] for one in close]


def _nearest(name: str, known: Collection[str]) -> list[str]:
    """Return the NEAREST names, the nearest first."""
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(b=name.strip().casefold())  # it keeps what it finds about b

    def nearness(shown: str) -> tuple[float, str]:
        ratios = []
        for one in _names_in(shown):
            matcher.set_seq1(one.casefold())
            ratios.append(matcher.ratio())
        return -max(ratios) if max(ratios) >= NEAR else 0, shown

    return sorted(known, key=nearness)[:NEAREST]


def _names_in(shown: str) -> list[str]:
    """Return both names of what is shown as `t-1 (minutes)`, the one name of anything else."""
    return shown[:-1].split(" (", 1) if shown.endswith(")") else [shown]

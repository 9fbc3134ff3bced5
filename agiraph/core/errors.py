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
    kind: str, name: str, known: Collection[str], names: Collection[str] = ()
) -> InvalidInput:
    """Return the error for a name that does not exist, listing some of those that do.

    `names` are others than the listed ones that may have been meant.
    """
    near = _meant(name, [*known, *names])
    return InvalidInput(f"unknown {kind} '{name}'{near} (known: {listed(sorted(known))})")


def listed(names: Collection[str]) -> str:
    """Return the first LISTED names and how many more there are, as an error shows them."""
    more = len(names) - LISTED
    shown = ", ".join([*names][:LISTED]) or "none"
    return f"{shown} and {more} more" if more > 0 else shown


def _meant(name: str, known: Collection[str]) -> str:
    """Return the guess at what was meant by a name that is nearly right, '' if there is none."""
    from difflib import get_close_matches  # only who mistyped pays for it

    by_folded = {one.strip().casefold(): one for shown in known for one in _names_in(shown)}
    close = get_close_matches(name.strip().casefold(), by_folded, n=GUESSED, cutoff=0.7)
    guesses = " or ".join(f"'{by_folded[one]}'" for one in close)
    return f", did you mean {guesses}?" if close else ""


def _names_in(shown: str) -> list[str]:
    """Return both names of what is shown as `t-1 (minutes)`, the one name of anything else."""
    return shown[:-1].split(" (", 1) if shown.endswith(")") else [shown]

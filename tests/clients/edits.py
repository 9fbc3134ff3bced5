"""The model behind aider: its answer is text, with whole files in it, which aider writes."""

import threading
from collections.abc import Mapping

from tests.fakes.replies import Brain, Reply, SeenRequest, say


def plays(files: Mapping[str, str]) -> Brain:
    """Return a brain that answers with these files, by name."""

    def brain(seen: SeenRequest) -> Reply:
        return say(_listed(files))

    return brain


def _listed(files: Mapping[str, str]) -> str:
    """Return files as aider's format `whole` has them."""
    return "\n\n".join(f"{name}\n```\n{text}\n```" for name, text in files.items())


class Pages:
    """A brain for the kills: the one answer is held back until every kill is over.

    Aider has no step but its model's answer, so all kills happen while that is awaited; a step is
    begun when its kill is next and the model is being asked.
    """

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._asked = 0
        self._done = 0
        self._over = threading.Event()

    def __call__(self, seen: SeenRequest) -> Reply:
        """Hold the answer back."""
        self._asked += 1
        files = {"steps.txt": "\n".join(f"DID-{n}" for n in range(self._steps))}
        answer = _listed(files | {"_result.md": "Done."})
        return Reply(text=answer, gate=self._over)

    def begun(self, number: int) -> int:
        """Return how often the model was asked since the kill before."""
        return self._asked

    def let_go(self, number: int) -> None:
        """End a step; the answer goes out after the last."""
        if number == self._steps - 1:
            self._over.set()

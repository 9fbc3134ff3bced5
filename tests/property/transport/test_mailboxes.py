"""Mailboxes against the simplest thing that could be right."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from transport.mailboxes import DUPLICATE, FULL, Mailboxes

MAX_MESSAGES = 5
MAX_BYTES = 40
addresses = st.sampled_from(["ada", "bob"])
idents = st.integers(0, 12).map(lambda n: n.to_bytes(16, "big"))


class Boxes(RuleBasedStateMachine):
    """Lists that are searched from end to end."""

    def __init__(self) -> None:
        super().__init__()
        self.boxes = Mailboxes(MAX_MESSAGES, MAX_BYTES)
        self.waiting: dict[str, list[tuple[int, bytes, bytes]]] = {"ada": [], "bob": []}
        self.was_done: set[tuple[str, bytes]] = set()
        self.position = 0

    @rule(address=addresses, id=idents, blob=st.binary(max_size=20))
    def accept(self, address: str, id: bytes, blob: bytes) -> None:
        box = self.waiting[address]
        size = sum(len(one[2]) for one in box) + len(blob)
        position = self.boxes.accept(address, id, blob)
        if (address, id) in self.was_done or id in [one[1] for one in box]:
            assert position == DUPLICATE
        elif len(box) >= MAX_MESSAGES or size > MAX_BYTES:
            assert position == FULL
        else:
            assert position > self.position
            self.position = position
            box.append((position, id, blob))

    @rule(address=addresses, id=idents)
    def done(self, address: str, id: bytes) -> None:
        box = self.waiting[address]
        is_waiting = id in [one[1] for one in box]
        assert self.boxes.done(address, id) == is_waiting
        if is_waiting:
            self.was_done.add((address, id))
            self.waiting[address] = [one for one in box if one[1] != id]

    @rule(address=addresses, limit=st.integers(0, 6), after=st.integers(0, 30))
    def undone(self, address: str, limit: int, after: int) -> None:
        behind = [one for one in self.waiting[address] if one[0] > after]
        assert self.boxes.undone(address, limit, after) == behind[:limit]

    @invariant()
    def depths_are_right(self) -> None:
        assert self.boxes.depths() == {
            address: (len(box), sum(len(one[2]) for one in box))
            for address, box in self.waiting.items()
            if box
        }


TestBoxes = Boxes.TestCase
TestBoxes.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)

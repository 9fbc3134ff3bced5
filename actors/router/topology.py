"""The topology of a home: which services have a part in how its router works."""

from agiraph.core.ids import BROKER, HUMAN, RECORDER, SUPERVISOR
from transport.peers import Topology

TOPOLOGY = Topology(
    controller=SUPERVISOR,
    known=frozenset({SUPERVISOR, RECORDER, BROKER, HUMAN}),
    tap=RECORDER,
    untapped=frozenset({"event.report"}),  # the recorder has each of these itself
    kept_prefixes=("console/",),
)

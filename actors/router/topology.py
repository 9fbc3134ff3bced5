"""The topology of a home: which services have a part in how its router works.

Their addresses are those of `agiraph.core.ids`, which the router's process does without.
"""

from transport.peers import Topology

TOPOLOGY = Topology(
    controller="supervisor",
    known=frozenset({"supervisor", "recorder", "broker", "human"}),
    tap="recorder",
    untapped=frozenset({"event.report"}),  # the recorder has each of these itself
    kept_prefixes=("console/",),
)

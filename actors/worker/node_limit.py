"""NodeLimitReached: how a worker's loop ends on a node that will not be done."""


class NodeLimitReached(Exception):
    """The node has reached a bound; the text is the reason that the coordinator is told."""

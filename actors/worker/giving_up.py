"""GiveUp: how a worker's loop ends on a node that will not be done."""


class GiveUp(Exception):
    """The node has reached a bound; the text is the reason that the coordinator is told."""

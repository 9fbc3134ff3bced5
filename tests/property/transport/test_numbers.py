"""Numbers that a host reports are finite, and its counts, times and seconds not negative."""

import math
from typing import Any

import msgpack
import pytest

from agiraph.core.hosts import MachineFacts
from agiraph.messages.authorization import MESSAGES
from agiraph.messages.host import RenewLease
from transport.codec import Codec
from transport.errors import MalformedBody

CODEC = Codec(MESSAGES)
RENEWAL = {"sent_at": 1.0, "now": 2.0}
NOT_FINITE = [math.nan, math.inf, -math.inf, "nan"]


@pytest.mark.parametrize("number", NOT_FINITE)
@pytest.mark.parametrize("name", ["sent_at", "now", "load", "latency_seconds"])
def test_number_of_a_host_is_finite(name: str, number: object) -> None:
    with pytest.raises(MalformedBody):
        CODEC.decode(RenewLease.TYPE, msgpack.packb(RENEWAL | {name: number}))


@pytest.mark.parametrize(
    "wrong",
    [
        {"free_memory_bytes": -5},
        {"free_memory_bytes": 2**63},
        {"latency_seconds": -1.0},
        {"load": -0.1},
        {"now": -1.0},
        {"now": 1e300},
        {"processes": [{"address": "a/b", "incarnation": 1, "pid": -1}]},
        {"processes": [{"address": "a/b", "incarnation": 1, "pid": 1, "cpu_seconds": -1.0}]},
        {"facts": MachineFacts(version="1").model_dump() | {"memory_bytes": -1}},
    ],
)
def test_counts_and_seconds_of_a_host_are_not_negative(wrong: dict[str, Any]) -> None:
    with pytest.raises(MalformedBody, match=r"greater|less"):
        CODEC.decode(RenewLease.TYPE, msgpack.packb(RENEWAL | wrong))

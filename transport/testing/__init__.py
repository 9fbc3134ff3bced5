"""Doubles of the bus for tests and experiments: a router in the same loop, a wire with faults."""

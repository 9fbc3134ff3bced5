"""Benchmarks: Agiraph beside a peer that is measured in the same run.

`python -m benchmarks` runs them, each in a process of its own with a deadline. `product` starts
what is measured, `model_service` plays the model, `report` holds what was found; every other module
is one benchmark with a function `run`, and `sample` if it can be compared with another checkout.
"""

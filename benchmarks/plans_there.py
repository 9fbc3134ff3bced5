"""A plan carried out by LangGraph or Prefect: `python plans_there.py langgraph|prefect NODES`.

Imports nothing of Agiraph, so that it runs in an interpreter that has only these libraries. Prints
one line of JSON: milliseconds a node of the clock, and of this process' processor time.
"""
# mypy: ignore-errors

import json
import operator
import os
import sys
import tempfile
import time
from typing import Annotated, TypedDict

WIDE = 50


def needed(number: int) -> list[int]:
    """Return the two nodes of the layer above that a node comes after."""
    row, column = divmod(number, WIDE)
    return [(row - 1) * WIDE + (column + step) % WIDE for step in (0, 1)] if row else []


def measure_langgraph(nodes: int, folder: str) -> list[float]:
    """Measure a StateGraph whose steps are each in SQLite before the next one begins."""
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import START, StateGraph

    class Count(TypedDict):
        done: Annotated[int, operator.add]

    began = time.perf_counter(), time.process_time()
    graph = StateGraph(Count)
    for number in range(nodes):
        graph.add_node(f"n{number}", lambda state: {"done": 1})
        above = [f"n{one}" for one in needed(number)]
        graph.add_edge(above or START, f"n{number}")
    with SqliteSaver.from_conn_string(os.path.join(folder, "steps.sqlite")) as saver:
        thread = {"configurable": {"thread_id": "1"}, "recursion_limit": nodes + 10}
        compiled = graph.compile(checkpointer=saver)
        assert compiled.invoke({"done": 0}, thread, durability="sync")["done"] == nodes
        return _since(began, nodes)


def measure_prefect(nodes: int, folder: str) -> list[float]:
    """Measure a flow of tasks on the server that it brings along, with its SQLite."""
    os.environ |= {
        "PREFECT_HOME": folder,
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_TO_API_ENABLED": "false",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "90",
        "DO_NOT_TRACK": "1",
    }
    from prefect import flow, task
    from prefect.cache_policies import NO_CACHE
    from prefect.task_runners import ThreadPoolTaskRunner

    @task(cache_policy=NO_CACHE)
    def node() -> int:
        return 1

    @flow(task_runner=ThreadPoolTaskRunner(max_workers=8))
    def plan(count: int) -> int:
        made = []
        for number in range(count):
            above = [made[one] for one in needed(number)]
            made.append(node.submit(wait_for=above))
        return sum(one.result() for one in made)

    plan(1)  # its server is there then
    began = time.perf_counter(), time.process_time()
    assert plan(nodes) == nodes
    return _since(began, nodes)


def _since(began: tuple[float, float], nodes: int) -> list[float]:
    spent = time.perf_counter() - began[0], time.process_time() - began[1]
    return [seconds * 1000 / nodes for seconds in spent]


if __name__ == "__main__":
    measure = {"langgraph": measure_langgraph, "prefect": measure_prefect}[sys.argv[1]]
    with tempfile.TemporaryDirectory(prefix="plan-") as made_in:
        found = measure(int(sys.argv[2]), made_in)
        print(json.dumps(found), flush=True)
        sys.stdout.flush()
    os._exit(0)  # a server's threads may still wait

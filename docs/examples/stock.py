from agiraph import Runtime, Task, tool


@tool
def stock(product: str, warehouse: str = "main") -> int:
    """Return how many pieces of a product a warehouse has."""
    return {"bolt": 120, "nut": 80}.get(product, 0)


runtime = Runtime("anthropic/claude-sonnet-4-5", tools=[stock])
print(runtime.run(Task("How many bolts are there in the main warehouse?")).output)

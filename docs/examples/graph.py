from agiraph import Executor, Graph, Node, Scheduler

# Manual graph construction (static planning)
graph = Graph()
graph.add_node(Node(id="n1", task="Research Company A", role="worker"))
graph.add_node(Node(id="n2", task="Research Company B", role="worker"))
graph.add_node(Node(id="n3", task="Synthesize", role="manager", deps=["n1", "n2"]))

# Execute
scheduler = Scheduler(graph)
executor = Executor(model_provider="openai/gpt-4")
result = executor.run(scheduler)

print(result.output)
print(result.graph.to_mermaid())

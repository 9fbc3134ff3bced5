from agiraph import Runtime, Task

runtime = Runtime("anthropic/claude-sonnet-4-5")
task = Task("Look at both companies at once")

# Stream execution events
for event in runtime.run_stream(task):
    if event.type == "node_start":
        print(f"Node {event.node_id} started")
    elif event.type == "node_complete":
        print(f"Node {event.node_id} finished: {event.result}")
    elif event.type == "message":
        print(f"Message: {event.from_id} → {event.to_id}: {event.content}")
    elif event.type == "run_end":
        print(event.status, event.result.usage.output_tokens > 0)

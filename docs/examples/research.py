from agiraph import Runtime, Task

# Create runtime
runtime = Runtime(
    model_provider="anthropic/claude-sonnet-4-5",
    planning_mode="dynamic",  # or "static"
    mcp_servers=["filesystem", "brave_search"],
)

# Define task
task = Task(
    prompt="Research the top 3 AI companies and create a comparison report",
    output_format="markdown",
)

# Execute
result = runtime.run(task)

# Access results
print(result.output)
print(result.graph)  # Final DAG structure
print(result.logs)  # Execution trace

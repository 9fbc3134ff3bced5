from agiraph import InvalidInput, RunFailed, Runtime, RunTimeout, Task

try:
    task = Task("Prove the theorem", timeout=900, budget=2.50)  # seconds, US dollars
    print(Runtime("anthropic/claude-sonnet-4-5").run(task).output)
except RunTimeout:
    print("it took too long, and was stopped")
except RunFailed as failed:
    print(failed)
    for failure in failed.failures:
        print(f"{failure.node} ({failure.failure_class}): {failure.reason}")
except InvalidInput as wrong:
    print(f"it cannot be asked for like that: {wrong}")

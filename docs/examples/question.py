from agiraph import QuestionAsked, Runtime, Task


def decide(question: QuestionAsked) -> str | None:
    if question.kind == "budget":
        return None  # left to the other channels: the command line, the web UI, a phone
    print(f"{question.from_id} asks: {question.question} {question.options}")
    return question.options[0] if question.options else "as you think best"


runtime = Runtime("anthropic/claude-sonnet-4-5", on_question=decide)
print(runtime.run(Task("Choose a colour for the logo")).output)

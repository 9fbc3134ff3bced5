"""Deep research by a mixed team (test 3): parallel workers, two providers, a second stage."""

import threading
from collections.abc import Callable

from tests.fakes.model_server import Brain, Reply, SeenRequest, call, calls
from tests.integration.house import until
from tests.scenarios.place import Place
from tests.scenarios.steps import WAIT, Steps, finish, node, publish, spawn, write

COMPANIES = {"ada": "NVIDIA", "bob": "AMD", "cleo": "Intel"}


def coordinator(seen: SeenRequest) -> Reply:
    """Lead three researchers on two providers, then a writer."""
    steps: list[Callable[[], Reply]] = [
        lambda: calls(
            spawn("ada", role="researcher", model="anthropic/fake"),
            spawn("bob", role="researcher", model="openai/fake"),
            spawn("cleo", role="researcher", model="anthropic/fake"),
            spawn("dora", role="writer"),
        ),
        lambda: calls(
            *(
                node(
                    f"{company.lower()}-chips",
                    task=f"Research {company}'s AI chips",
                    role="researcher",
                    worker=worker,
                )
                for worker, company in COMPANIES.items()
            ),
            call("send_message", to="*", content="Data center chips only, please."),
        ),
        lambda: WAIT,
        reconvene,
        lambda: node(
            "report",
            task="Compare the three in one report",
            role="writer",
            worker="dora",
            refs={company.lower(): f"{company.lower()}-chips" for company in COMPANIES.values()},
        ),
        lambda: call("wait", nodes=["report"]),
        lambda: call("read_file", path="nodes/report/published/report.md"),
        lambda: finish(seen.result("read_file")),
    ]
    return steps[seen.step]()


def reconvene() -> Reply:
    """Close the first stage."""
    return call("reconvene", assessment="All three are covered; now compare them.")


def researcher(meeting: threading.Barrier) -> Brain:
    """Answer as a researcher; the first answer is given only when all three have asked."""

    def answer(seen: SeenRequest) -> Reply:
        name = next(name for name in COMPANIES if seen.is_for(name))
        company = COMPANIES[name]
        if seen.step == 0:
            meeting.wait(timeout=60)
            return write("findings.md", f"{company}: many TFLOPS\n")
        return publish(f"{company}'s chips are described")

    return answer


def writer(seen: SeenRequest) -> Reply:
    """Read what the three published and write the comparison from it."""
    if seen.step == 0:
        return calls(
            *(call("read_ref", ref_name=company.lower()) for company in COMPANIES.values())
        )
    if seen.step == 1:
        findings = "\n".join(seen.results("read_ref"))
        return write("report.md", f"# Comparison\n\n{findings}")
    return publish("the comparison")


def test_three_researchers_work_in_parallel_and_a_writer_brings_it_together(place: Place) -> None:
    research: Steps = researcher(threading.Barrier(3))
    place.plays(coordinator=coordinator, dora=writer, **dict.fromkeys(COMPANIES, research))
    outcome = place.complete(
        "Compare the AI chips of NVIDIA, AMD and Intel",
        "--model",
        "anthropic/fake",
        "--worker-model",
        "openai/fake",
    )
    assert len(outcome.events("worker.spawned")) == 4
    assert {seen.api for seen in place.server.requests} == {"anthropic", "openai"}
    assert len(outcome.events("stage.reconvened")) == 1
    until(lambda: len(outcome.messages()) >= 4, "the messages are filed")
    assert len(outcome.messages()) == 4, outcome.messages()
    for company in COMPANIES.values():
        assert f"{company}: many TFLOPS" in outcome.result["result"]
        assert outcome.published(f"{company.lower()}-chips")
    assert len(set(outcome.completions())) == len(outcome.completions()) == 4
    assert "All three are covered" in (outcome.run / "_plan.md").read_text()
    assert outcome.result["usage"]["input_tokens"] > 0

"""Deep research by a mixed team (test 3): parallel workers, two providers, a second stage."""

import threading

from tests.fakes.model_server import Reply, Responder, SeenRequest, call, calls
from tests.integration.waiting import until
from tests.scenarios.live_home import LiveHome
from tests.scenarios.steps import WAIT, Steps, finish, node, publish, spawn, tell, write

COMPANIES = {"ada": "NVIDIA", "bob": "AMD", "cleo": "Intel"}


REFS = {company.lower(): f"{company.lower()}-chips" for company in COMPANIES.values()}
COORDINATOR: list[Reply | Responder] = [
    calls(
        spawn("ada", role="researcher", model="anthropic/fake"),
        spawn("bob", role="researcher", model="openai/fake"),
        spawn("cleo", role="researcher", model="anthropic/fake"),
        spawn("dora", role="writer"),
    ),
    calls(
        *(
            node(f"{company.lower()}-chips", worker, role="researcher")
            for worker, company in COMPANIES.items()
        ),
        tell("*", "Data center chips only, please."),
    ),
    WAIT,
    call("reconvene", assessment="All three are covered; now compare them."),
    node("report", "dora", role="writer", refs=REFS),
    call("wait", nodes=["report"]),
    call("read_file", path="nodes/report/published/report.md"),
    lambda seen: finish(seen.result("read_file")),
]
WRITER: list[Reply | Responder] = [
    calls(*(call("read_ref", name=ref) for ref in REFS)),
    lambda seen: write("report.md", "\n".join(["# Comparison", *seen.results("read_ref")])),
    publish("the comparison"),
]


def researcher(meeting: threading.Barrier) -> Responder:
    """Answer as a researcher; the first answer is given only when all three have asked."""

    def answer(seen: SeenRequest) -> Reply:
        name = next(name for name in COMPANIES if seen.is_for(name))
        company = COMPANIES[name]
        if seen.step == 0:
            meeting.wait(timeout=60)
            return write("findings.md", f"{company}: many TFLOPS\n")
        return publish(f"{company}'s chips are described")

    return answer


def test_three_researchers_work_in_parallel_and_a_writer_combines_their_results(
    live_home: LiveHome,
) -> None:
    research: Steps = researcher(threading.Barrier(3))
    live_home.plays(coordinator=COORDINATOR, dora=WRITER, **dict.fromkeys(COMPANIES, research))
    outcome = live_home.complete(
        "Compare the AI chips of NVIDIA, AMD and Intel",
        "--model",
        "anthropic/fake",
        "--worker-model",
        "openai/fake,anthropic/fake",
    )
    assert len(outcome.events("worker.spawned")) == 4
    assert {seen.api for seen in live_home.server.requests} == {"anthropic", "openai"}
    assert len(outcome.events("stage.reconvened")) == 1
    until(lambda: len(outcome.messages()) >= 4, "the messages are filed")
    assert len(outcome.messages()) == 4, outcome.messages()
    for company in COMPANIES.values():
        assert f"{company}: many TFLOPS" in outcome.result["result"]
        assert outcome.published(f"{company.lower()}-chips")
    assert len(set(outcome.completions())) == len(outcome.completions()) == 4
    assert "All three are covered" in (outcome.run / "_plan.md").read_text()
    assert outcome.result["usage"]["input_tokens"] > 0

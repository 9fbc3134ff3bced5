"""schemathesis: requests that the OpenAPI document allows get documented answers, never 500.

Every operation is called with what is drawn from the document: of an agent that is there, and with
names that nobody bears.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from agiraph.http.client import read_gateway_address
from agiraph.messages.control import RefusedReply
from agiraph.messages.run import BeginRun
from tests.fakes.gateway import AGENT, GatewayHome, ask, running_gateway

Operation = Any
Case = Any

LEAST_OPERATIONS = 60
ENDS_IT = (("DELETE", "/agents/{agent}"), ("POST", "/agents/{agent}/archive"))
KNOWN = {"agent": AGENT, "node": "tables", "question_id": "q1"}

NAMES = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)

EXAMPLES = settings(
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def gateway_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayHome]:
    home = tmp_path_factory.mktemp("home")
    with running_gateway(home, calls_per_second=1e6, burst=10**6) as gateway_home:
        gateway_home.add_agent()
        gateway_home.add_team("Ada")
        gateway_home.log_events("node.created", "node.started")
        gateway_home.runtime.answers[BeginRun] = lambda body: RefusedReply(
            reason="a run is running"
        )
        ask(gateway_home)
        yield gateway_home


class ApiCaller:
    """Makes the calls; keeps which answers there were."""

    def __init__(self, gateway_home: GatewayHome) -> None:
        from schemathesis.checks import CHECKS, load_all_checks  # not at each collection: a second

        load_all_checks()
        self.url, token = read_gateway_address(gateway_home.home.path)
        self.headers = {"Authorization": f"Bearer {token}"}
        self.statuses: Counter[int] = Counter()
        self._checks: list[Any] = [CHECKS.get_one(name) for name in NAMES]

    def operations(self) -> list[Operation]:
        import schemathesis

        schema = schemathesis.openapi.from_url(f"{self.url}/openapi.json", headers=self.headers)
        results: list[Any] = list(schema.get_all_operations())
        return [result.ok() for result in results]

    def call(self, case: Case) -> None:
        answer = case.call(base_url=self.url, headers=self.headers)
        self.statuses[answer.status_code] += 1
        case.validate_response(answer, checks=self._checks)

    def draw(self, operation: Operation, **named: str) -> None:
        """Call an operation with these parts of its path, a few times; without any, once."""
        fixed = {"path_parameters": dict(named)} if named else {}

        @settings(EXAMPLES, max_examples=2 if named else 1)
        @given(case=operation.as_strategy(**fixed))
        def answers_as_rendered(case: Case) -> None:
            self.call(case)

        answers_as_rendered()


def test_every_response_matches_the_openapi_document(gateway_home: GatewayHome) -> None:
    caller = ApiCaller(gateway_home)
    operations = caller.operations()
    assert len(operations) > LEAST_OPERATIONS
    for operation in operations:
        names = [parameter.name for parameter in operation.path_parameters]
        is_known = bool(names) and all(name in KNOWN for name in names)
        if is_known and (operation.method.upper(), operation.path) not in ENDS_IT:
            caller.draw(operation, **{name: KNOWN[name] for name in names})
    for operation in operations:
        caller.draw(operation)
    assert {200, 201, 404, 409, 422} <= caller.statuses.keys()
    assert caller.statuses[200] > 60

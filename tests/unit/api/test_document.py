"""The OpenAPI document: every endpoint in words, with its refusals, its keys and true examples."""

import inspect
import re
from typing import Any

import pytest
from pydantic import BaseModel

import agiraph.http.api
from agiraph.api.app import GatewayApi
from agiraph.api.document import CHANGES
from agiraph.api.examples import EXAMPLES
from agiraph.core.models import Event

JsonObject = dict[str, Any]


@pytest.fixture(scope="module")
def document() -> JsonObject:
    return GatewayApi().openapi()


def operations(document: JsonObject) -> list[tuple[str, str, JsonObject]]:
    return [
        (method, path, about)
        for path, family in document["paths"].items()
        for method, about in family.items()
    ]


def test_every_endpoint_has_a_summary_a_family_and_a_name_of_its_own(document: JsonObject) -> None:
    found = operations(document)
    assert len(found) > 55
    for method, path, about in found:
        assert re.match(r"[A-Z][^\n]{8,110}$", about["summary"]), (method, path, about["summary"])
        assert len(about["tags"]) == 1, (method, path)
    names = [about["operationId"] for _, _, about in found]
    assert len(set(names)) == len(names)


def test_every_refusal_is_a_problem(document: JsonObject) -> None:
    for method, path, about in operations(document):
        assert {"401", "403", "429", "default"} <= about["responses"].keys(), (method, path)
        for status, response in about["responses"].items():
            if status >= "400":
                assert list(response["content"]) == ["application/problem+json"], (path, status)
    assert "HTTPValidationError" not in str(document)


def test_every_file_path_documents_its_raw_bytes(document: JsonObject) -> None:
    told = 0
    for method, path, about in operations(document):
        asked = {parameter["name"]: parameter for parameter in about.get("parameters", ())}
        content = about["responses"].get("200", {}).get("content", {})
        if "application/octet-stream" not in content:
            assert "as" not in asked or "application/zip" in content, (method, path)
            continue
        told += 1
        assert "raw" in asked["as"]["schema"]["enum"]
        assert "raw: the file's bytes" in asked["as"]["description"]
        assert {"Range", "If-Range", "If-None-Match"} <= asked.keys(), path
        assert {"ETag", "Accept-Ranges"} <= about["responses"]["200"]["headers"].keys()
        assert "Content-Range" in about["responses"]["206"]["headers"]
        assert {"304", "409", "416"} <= about["responses"].keys()
    assert told == 8


def test_every_changing_operation_takes_an_idempotency_key(document: JsonObject) -> None:
    for method, path, about in operations(document):
        names = [parameter["name"] for parameter in about.get("parameters", ())]
        assert ("Idempotency-Key" in names) == (method in CHANGES), (method, path)
        if method in CHANGES:
            assert "`Idempotency-Key` is empty" in about["responses"]["400"]["description"], path


def test_every_schema_reference_exists(document: JsonObject) -> None:
    schemas = document["components"]["schemas"]
    named = set(re.findall(r"#/components/schemas/(\w+)", str(document)))
    assert named <= schemas.keys()


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_examples_validate_as_their_records(name: str) -> None:
    record = Event if name == "Event" else getattr(agiraph.http.api, name)
    for example in EXAMPLES[name]:
        told = record.model_validate(example).model_dump(mode="json", by_alias=True)
        assert {key: told[key] for key in example} == example


def test_every_request_with_required_fields_has_an_example() -> None:
    for name, record in vars(agiraph.http.api).items():
        if not (inspect.isclass(record) and issubclass(record, agiraph.http.api.ApiRequest)):
            continue
        is_whole = name not in ("ApiRequest", "RunRequest")
        needs = any(field.is_required() for field in record.model_fields.values())
        assert not (is_whole and needs) or name in EXAMPLES, name
        assert issubclass(record, BaseModel)

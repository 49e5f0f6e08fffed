"""The OpenAPI document is what the program does; a change that breaks programs is said to be one."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from django.test import Client
from jsonschema import Draft202012Validator

from annotation.models import User
from rexvqa_site.management.commands.write_api_schema import api_schema
from tests.annotation.api.schema import FILE, breaking_changes, document

REFUSALS = {"400", "401", "403", "404", "422", "429"}


def test_the_document_is_up_to_date() -> None:
    made = api_schema()
    if made == FILE.read_text(encoding="utf-8"):
        return
    broken = breaking_changes(document(), json.loads(made))
    told = "programs break by it: " + "; ".join(broken) if broken else "no program breaks by it"
    pytest.fail(f"docs/openapi.json is not what the program does; {told}. Run: manage.py write_api_schema")


def test_it_is_openapi_3_1_and_every_schema_is_sound() -> None:
    assert document()["openapi"] == "3.1.0"
    for schema in document()["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_every_operation_has_a_summary_a_name_and_its_refusals() -> None:
    operations = [(path, method, one) for path, each in document()["paths"].items() for method, one in each.items()]
    for path, method, one in operations:
        assert one["summary"], (path, method)
        assert one["description"], (path, method)
        assert set(one["responses"]) >= REFUSALS, (path, method)
    names = [one["operationId"] for _path, _method, one in operations]
    assert len(names) == len(set(names))


def test_every_operation_has_examples_that_it_takes_and_gives() -> None:
    found = 0
    for path, each in document()["paths"].items():
        for method, one in each.items():
            good = [answer for status, answer in one["responses"].items() if status in {"200", "201", "202"}]
            for body in (one.get("requestBody", {}), *good):
                for media in body.get("content", {}).values():
                    if "example" in media:
                        schema = {**media["schema"], "components": document()["components"]}
                        faults = [error.message for error in Draft202012Validator(schema).iter_errors(media["example"])]
                        assert faults == [], (path, method)
                    found += "example" in media
                kinds = set(body.get("content", {})) & {"application/json", "multipart/form-data"}
                is_file = any(body["content"][kind]["schema"] == {"type": "object"} for kind in kinds)
                assert is_file or all("example" in body["content"][kind] for kind in kinds), (path, method)
    assert found > 90
    for name, answer in document()["components"]["responses"].items():
        problem = answer["content"]["application/problem+json"]["example"]
        assert f"Refused{problem['status']}" == name


def test_every_link_leads_from_an_address_to_one_of_its_things_or_acts() -> None:
    operations = {
        one["operationId"]: (path, one) for path, each in document()["paths"].items() for one in each.values()
    }
    listed = document()["paths"]["/api/v1/banks/{slug}/questions/"]["get"]["responses"]["200"]["links"]
    place = {"slug": "$request.path.slug", "number": "$response.body#/results/0/number"}
    assert listed["getOneQuestion"] == {"operationId": "getOneQuestion", "parameters": place}
    made = document()["paths"]["/api/v1/samples/"]["post"]["responses"]["201"]["links"]
    assert made["getOneSample"]["parameters"] == {"slug": "$response.body#/id"}
    for path, one in operations.values():
        for answer in one["responses"].values():
            for link in answer.get("links", {}).values():
                below, target = operations[link["operationId"]]
                assert below.startswith(path)
                asked = {each["name"] for each in target["parameters"] if each["in"] == "path"}
                assert set(link["parameters"]) == asked, (path, link)


CHANGES: list[tuple[str, tuple[str, ...], Any]] = [
    ("GET /api/v1/me/ is gone", ("paths", "/api/v1/me/"), None),
    ("BankShape.name is gone", ("components", "schemas", "BankShape", "properties", "name"), None),
    (
        "BankShape.name has another type",
        ("components", "schemas", "BankShape", "properties", "name", "type"),
        "integer",
    ),
    ("ReasonSent.why is asked for", ("components", "schemas", "ReasonSent", "required"), ["reason", "why"]),
    ("GET /api/v1/me/: the status 200 is gone", ("paths", "/api/v1/me/", "get", "responses", "200"), None),
    ("GET /api/v1/banks/: the parameter name is gone", ("paths", "/api/v1/banks/", "get", "parameters"), []),
]


@pytest.mark.parametrize(("words", "place", "value"), CHANGES, ids=[one[0] for one in CHANGES])
def test_what_breaks_a_program_is_named(words: str, place: tuple[str, ...], value: Any) -> None:
    new = copy.deepcopy(document())
    part = new
    for name in place[:-1]:
        part = part[name]
    if value is None:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    assert words in breaking_changes(document(), new)


def test_what_is_added_breaks_nothing() -> None:
    new = copy.deepcopy(document())
    new["paths"]["/api/v1/new/"] = {}
    new["components"]["schemas"]["BankShape"]["properties"]["colour"] = {"type": "string"}
    assert breaking_changes(document(), new) == []


def test_document_and_page_are_for_people_who_are_logged_in(client: Client, rita: User) -> None:
    assert client.get("/api/openapi.json").status_code == 302
    client.force_login(rita)
    assert json.loads(b"".join(client.get("/api/openapi.json").streaming_content)) == document()  # type: ignore[attr-defined]
    assert "/api/v1/banks/{slug}/questions/" in client.get("/api/docs/").content.decode()

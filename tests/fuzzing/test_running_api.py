"""The running server asked by programs. Bad requests get one problem document each, and change no row of a table.
Whatever else is asked, with whatever token: no fault of the server, no answer that the document does not describe.

500 requests of Schemathesis here; ``make proof-api`` asks 20,000 (PROOF_REQUESTS), others with another PROOF_SEED.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest
import requests

from tests.fuzzing.described_cases import Fuzzing
from tests.fuzzing.fuzzed_server import FuzzedSite, fuzzed_site

N_REQUESTS = int(os.environ.get("PROOF_REQUESTS", "500"))
SHARE_OF_CHAINS = 0.3
WRITER, READER, ELSEWHERE = "coordinator, bank chest", "coordinator, site", "coordinator, bank room-cases"
SAMPLE = {"bank": "chest", "name": "Bad", "by": "none", "per_thousand": 1000}
WITHDRAW = "banks/chest/questions/1/withdraw/"


@dataclass(frozen=True)
class Bad:
    """A request, and what it is refused with."""

    what: str
    status: int
    code: str
    method: str
    address: str
    body: object = None  # text and bytes are sent as they are
    way: str = WRITER
    headers: Mapping[str, str] = field(default_factory=dict)
    names: str = ""  # the field that the document names


REQUESTS = [
    Bad("token in the address", 400, "token_in_address", "GET", "banks/?access_token=x"),
    Bad("token in a filter", 400, "token_in_address", "GET", "banks/?name={token}", way="nobody"),
    Bad("no token", 401, "not_authenticated", "POST", "samples/", SAMPLE, "nobody"),
    Bad("revoked token", 401, "token_unknown", "POST", "samples/", SAMPLE, "revoked"),
    Bad("expired token", 401, "token_expired", "POST", "samples/", SAMPLE, "expired"),
    Bad("token of another bank", 404, "not_found", "POST", "samples/", SAMPLE, ELSEWHERE),
    Bad("token of another bank, one thing", 404, "not_found", "POST", WITHDRAW, {"reason": "x"}, ELSEWHERE),
    Bad("token of a study", 403, "forbidden", "POST", "samples/", SAMPLE, "reader, study room"),
    Bad("token for reading", 403, "forbidden", "POST", "samples/", SAMPLE, READER),
    Bad("no such method", 405, "method_not_allowed", "DELETE", "banks/chest/"),
    Bad("a method of another address", 405, "method_not_allowed", "GET", WITHDRAW),
    Bad("no JSON", 400, "not_json", "POST", "samples/", "{"),
    Bad("no text", 400, "not_json", "POST", "samples/", b"\xff\xfe"),
    Bad("a name twice", 400, "not_json", "POST", "samples/", '{"bank": "chest", "bank": "chest"}'),
    Bad("no body", 422, "invalid", "POST", "samples/", ""),
    Bad("too deep", 422, "too_deep", "POST", "samples/", "[" * 50_000 + "]" * 50_000),
    Bad("too large", 413, "too_large", "POST", "samples/", {**SAMPLE, "name": "x" * (6 * 1024**2)}),
    Bad("unknown field", 422, "invalid", "POST", "samples/", {**SAMPLE, "colour": 1}, names="colour"),
    Bad("wrong type", 422, "invalid", "POST", "samples/", {**SAMPLE, "per_thousand": "many"}, names="per_thousand"),
    Bad("a list", 422, "invalid", "POST", "samples/", [SAMPLE]),
    Bad("other content", 415, "unsupported_media_type", "POST", "samples/", "x", headers={"Content-Type": "a/b"}),
    Bad("id of another bank", 404, "not_found", "POST", "rounds/", {"sample": "elsewhere", "name": "Bad"}),
    Bad("study of another bank", 404, "not_found", "POST", "studies/room/close/", {}),
    Bad("stale If-Match", 412, "changed_since", "POST", WITHDRAW, {"reason": "x"}, headers={"If-Match": '"old"'}),
    Bad("key of another request", 422, "key_reused", "POST", "samples/", SAMPLE, headers={"Idempotency-Key": "used"}),
    Bad("key that is none", 400, "bad_key", "POST", "samples/", SAMPLE, headers={"Idempotency-Key": "x" * 101}),
]  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FuzzedSite]:
    with fuzzed_site(tmp_path_factory.mktemp("bad")) as served:
        first = {**SAMPLE, "name": "First"}
        assert ask(served, Bad("", 0, "", "POST", "samples/", first, headers={"Idempotency-Key": "used"})).ok
        for way in served.ways_in:  # notes when a token was last used, and that one is not taken
            ask(served, Bad("", 0, "", "GET", "me/", way=way))
        yield served


def ask(site: FuzzedSite, bad: Bad) -> requests.Response:
    way_in = site.ways_in[bad.way]
    token = site.ways_in[WRITER]["Authorization"].removeprefix("Bearer ")
    sent = bad.body if isinstance(bad.body, str | bytes | None) else json.dumps(bad.body)
    return requests.request(
        bad.method,
        f"{site.address}/api/v1/{bad.address.format(token=token)}",
        data=sent,
        headers={"Content-Type": "application/json", **way_in, **bad.headers},
        timeout=60,
    )


def test_each_is_one_problem_document_and_stores_nothing(site: FuzzedSite) -> None:
    before = site.counted()
    wrong: list[tuple[str, object]] = []
    for bad in REQUESTS:
        answer = ask(site, bad)
        told = answer.json() if answer.headers["Content-Type"] == "application/problem+json" else {}
        found = (answer.status_code, told.get("status"), told.get("code"), told.get("type"))
        fields = [error["field"] for error in told.get("errors", ())]
        if found != (bad.status, bad.status, bad.code, f"urn:rexvqa:problem:{bad.code}") or not told["detail"]:
            wrong.append((bad.what, found))
        if bad.names and fields != [bad.names]:
            wrong.append((bad.what, fields))
    assert wrong == []
    assert site.counted() == before


def test_no_request_makes_the_server_fail_or_leave_its_document(site: FuzzedSite) -> None:
    fuzzing = Fuzzing(site, int(os.environ.get("PROOF_SEED", "1")))
    fuzzing.chain(int(N_REQUESTS * SHARE_OF_CHAINS))
    fuzzing.ask(max(1, N_REQUESTS - fuzzing.heard.n_cases))
    heard, after = fuzzing.heard, site.counted()
    print(f"\n{heard} of {len(fuzzing.operations)} operations")
    assert not heard.faults, "\n\n".join([*heard.faults.values(), site.said()])
    assert heard.n_cases >= N_REQUESTS
    assert len(heard.answered) > min(len(fuzzing.operations) / 4, N_REQUESTS / 20)  # not refused alone
    assert heard.statuses[500] == 0
    assert after["audit"] == "None"

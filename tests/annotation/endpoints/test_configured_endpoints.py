"""Endpoints and keys come from whoever runs the server, and what is wrong with them stops with a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from annotation.call_enums import EndpointPlace
from annotation.endpoints.configured_endpoints import EndpointRefused, endpoint_named, endpoints, key_for
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.endpoints.simulated_endpoint import SIMULATED, WRITER, chat_answer, port_file, served_simulation
from annotation.generation.kernels.answer_forms import (
    BULLETS,
    QUESTIONS,
    fault_of,
    finding_line,
    ground_bullet,
    read_bullets,
    read_questions,
)
from annotation.model_calls.kernels.filling import ShippedPrompt, fill
from annotation.questionbank.kernels.question_checks import C3
from annotation.validators.kernels.validator_prompts import PROMPTS
from rexvqa_site.env import env_certificates, env_endpoints
from tests.processes import environment, manage
from tests.refusals import refuses

LOCAL = Endpoint("local", "http://127.0.0.1:8000/v1", EndpointPlace.MACHINE)
HOSTED = Endpoint("big-one", "https://models.example.org/v1")
SECRET = "sk-planted-9f8e7d6c5b"
REPORT = """Findings: The heart is enlarged. A nodule lies in the right upper lobe. The left hilum is prominent.
Impression: Sternal wires. No pleural effusion."""


@pytest.fixture(autouse=True)
def two_endpoints(settings: Settings, tmp_path: Path) -> None:
    settings.MODEL_ENDPOINTS, settings.HOME = (LOCAL, HOSTED), tmp_path
    (tmp_path / "model_keys").mkdir()


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "model_keys" / "big-one"
    path.write_text(f"{SECRET}\n")
    path.chmod(0o600)
    return path


def read(monkeypatch: pytest.MonkeyPatch, text: str) -> tuple[Endpoint, ...]:
    monkeypatch.setenv("REXVQA_MODEL_ENDPOINTS", text)
    return env_endpoints("REXVQA_MODEL_ENDPOINTS")


def test_the_list_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch, f"local={LOCAL.url}/, big-one = {HOSTED.url},") == (LOCAL, HOSTED)
    assert read(monkeypatch, " ") == ()


def test_words_behind_the_url(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "place=network  model=Qwen/Qwen2.5-VL:7b connections=8 tokens=100000 calls=60"
    (found,) = read(monkeypatch, f"gpu=http://10.0.0.5:8000/v1/ {words}")
    assert found == Endpoint(
        "gpu", "http://10.0.0.5:8000/v1", EndpointPlace.NETWORK, "Qwen/Qwen2.5-VL:7b", 60, 100_000, 8
    )
    (plain,) = read(monkeypatch, "gpu=http://10.0.0.5:8000/v1")
    assert (plain.model, plain.calls_per_minute, plain.tokens_per_minute, plain.connections) == ("", None, None, 4)


@pytest.mark.parametrize(
    ("host", "place"),
    [
        ("127.0.0.1:8000", EndpointPlace.MACHINE),
        ("127.8.8.8", EndpointPlace.MACHINE),
        ("[::1]:8000", EndpointPlace.MACHINE),
        ("LOCALHOST:11434", EndpointPlace.MACHINE),
        ("10.0.0.5", EndpointPlace.OUTSIDE),
        ("localhost.example.org", EndpointPlace.OUTSIDE),
        ("127.0.0.1.example.org", EndpointPlace.OUTSIDE),
    ],
)
def test_an_endpoint_is_outside_unless_it_is_this_machine(
    monkeypatch: pytest.MonkeyPatch, host: str, place: EndpointPlace
) -> None:
    assert read(monkeypatch, f"a=http://{host}/v1")[0].place == place
    assert read(monkeypatch, f"a=http://{host}/v1 place=network")[0].place == EndpointPlace.NETWORK


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("https://host/v1", "entry 1 is not of the form"),
        ("a=http://h/v1,Big=http://h/v1", "the name of entry 2 is not made of small letters"),
        ("a_b=http://h/v1", "small letters"),
        ("-a=http://h/v1", "small letters"),
        ("a=http://h/v1,a=http://i/v1", "the name 'a' is listed twice"),
        ("a=ftp://h/v1", "the URL of 'a' is not an address"),
        ("a=", "the URL of 'a' is missing"),
        ("a=http:///v1", "not an address"),
        ("a=http://h:0/v1", "not an address"),
        ("a=http://h:port/v1", "cannot be read"),
        ("a=http://[::1/v1", "cannot be read"),
        ("a=http://me:sk-planted@h/v1", "holds a user or a password"),
        ("a=http://@h/v1", "holds a user or a password"),
        ("a=http://h/v1?api-version=sk-planted", "holds a query"),
        ("a=http://h/v1#", "holds a query or a fragment"),
        ("a=http://h\\@i/v1", "holds a character that does not belong there"),
        ("a=http://h/v 1", "what is in place 1 behind the URL of 'a' is not known"),
        ("a=http://h/v1 calls=60 sk-planted", "what is in place 2 behind the URL"),
        ("a=http://h/v1 key=sk-planted", "the word 'key' behind the URL of 'a' is not known; known are place, model"),
        ("a=http://h/v1 Sk-planted=", "what is in place 1 behind the URL"),
        ("a=http://h/v1 place=cloud-planted", "the place of 'a' is none of machine, network, outside"),
        ("a=http://h/v1 place=", "the place of 'a'"),
        ("a=http://h/v1 model=", "the model of 'a' is missing"),
        (f"a=http://h/v1 model={'m' * 201}", "the model of 'a'"),
        ("a=http://h/v1 calls=0", "calls of 'a' is not a whole number above 0"),
        ("a=http://h/v1 calls=-5", "calls of 'a'"),
        ("a=http://h/v1 calls=many", "calls of 'a'"),
        ("a=http://h/v1 tokens=1.5", "tokens of 'a' is not a whole number above 0"),
        ("a=http://h/v1 tokens=٣", "tokens of 'a'"),
        ("a=http://h/v1 connections=65", "connections of 'a' is not a whole number from 1 to 64"),
        ("a=http://h/v1 connections=0", "connections of 'a'"),
        ("a=http://h/v1 calls=1 calls=2", "the word 'calls' of 'a' is there twice"),
    ],
)
def test_a_wrong_list_stops_the_start(monkeypatch: pytest.MonkeyPatch, text: str, sentence: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="REXVQA_MODEL_ENDPOINTS: ") as refused:
        read(monkeypatch, text)
    assert sentence in str(refused.value)
    assert "planted" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("REXVQA_MODEL_ENDPOINTS", "a=http://me:planted@h/v1", "the URL of 'a' holds a user or a password"),
        ("REXVQA_MODEL_CA_FILE", "/etc", "REXVQA_MODEL_CA_FILE: /etc cannot be read: Is a directory"),
    ],
)
def test_the_settings_refuse_it(tmp_path: Path, name: str, value: str, said: str) -> None:
    done = manage("check", env=environment(tmp_path, **{name: value}))
    assert done.returncode != 0
    assert said in done.stderr
    assert "planted" not in done.stderr


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"", "holds no certificates that can be read"),
        (b"0\x82\x03\x00", "they begin with -----BEGIN CERTIFICATE-----"),
        (b"-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----\n", "holds no certificates"),
        (b"-----BEGIN CERTIFICATE-----\n", "holds no certificates that can be read"),
    ],
)
def test_a_wrong_file_of_certificates_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, sentence: str
) -> None:
    path = tmp_path / "authority.pem"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("REXVQA_MODEL_CA_FILE", str(path))
    with pytest.raises(ImproperlyConfigured, match="REXVQA_MODEL_CA_FILE: ") as refused:
        env_certificates("REXVQA_MODEL_CA_FILE")
    assert str(path) in str(refused.value)
    assert sentence in str(refused.value)


def test_a_file_of_certificates_may_hold_remarks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "authority.pem"
    path.write_bytes("# Städtisches Klinikum\n".encode() + Path(__file__).with_name("self_signed.pem").read_bytes())
    monkeypatch.setenv("REXVQA_MODEL_CA_FILE", f" {path} ")
    assert "-----BEGIN CERTIFICATE-----" in env_certificates("REXVQA_MODEL_CA_FILE")
    monkeypatch.setenv("REXVQA_MODEL_CA_FILE", "")
    assert env_certificates("REXVQA_MODEL_CA_FILE") == ""


def test_only_named_endpoints_are_there() -> None:
    assert endpoints() == (LOCAL, HOSTED)
    assert endpoint_named("big-one") == HOSTED
    for name in ("", "other", HOSTED.url, "../big-one"):
        with pytest.raises(EndpointRefused, match="no model endpoint") as refused:
            key_for(endpoint_named(name))
        assert (refused.value.code, refused.value.status) == ("no_endpoint", 404)


def test_a_key_of_a_file_or_before_it_of_the_environment(monkeypatch: pytest.MonkeyPatch, key_file: Path) -> None:
    of_file = key_for(HOSTED)
    assert of_file is not None
    assert of_file.authorization() == f"Bearer {SECRET}"
    monkeypatch.setenv("REXVQA_MODEL_KEY_BIG_ONE", "sk-of-the-environment")
    key = key_for(HOSTED)
    assert key is not None
    assert key.authorization() == "Bearer sk-of-the-environment"
    assert key_for(LOCAL) is None


def test_a_file_that_others_may_use_is_refused(key_file: Path) -> None:
    for mode in (0o640, 0o604, 0o620, 0o601):
        key_file.chmod(mode)
        with refuses(EndpointRefused, "key_open", match="chmod 600") as refused:
            key_for(HOSTED)
        assert "planted" not in str(refused.value)


def test_a_file_without_a_key_or_a_folder_in_its_place_is_refused(key_file: Path) -> None:
    for content in ("", "sk-planted with spaces", "sk-plänted-sk-planted", "short", "x" * 5000):
        key_file.write_text(content)
        with pytest.raises(EndpointRefused, match="holds no key") as refused:
            key_for(HOSTED)
        assert "planted" not in repr(refused.value)
        assert refused.value.__context__ is None or "planted" not in repr(refused.value.__context__)
    key_file.unlink()
    key_file.mkdir(mode=0o700)
    with pytest.raises(EndpointRefused, match="cannot be read"):
        key_for(HOSTED)


# --- the simulated models of a demonstration ---
def test_a_demonstration_has_its_simulated_models_while_they_are_served(settings: Settings) -> None:
    with served_simulation(port_file()) as port:
        assert endpoints() == (LOCAL, HOSTED)
        settings.DEMO = True
        simulated = Endpoint(SIMULATED, f"http://127.0.0.1:{port}/v1", EndpointPlace.MACHINE, WRITER)
        assert endpoints() == (LOCAL, HOSTED, simulated)
        own = Endpoint(SIMULATED, "http://127.0.0.1:8100/v1", EndpointPlace.MACHINE)
        settings.MODEL_ENDPOINTS = (own,)
        assert endpoints() == (own,)
    assert not port_file().exists()


def simulated_answer(prompt: ShippedPrompt, text: str, *, seed: int = 0) -> str:
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": json.loads(prompt.schema)}}
    messages = [{"role": "system", "content": str(seed)}, {"role": "user", "content": text}]
    answer = chat_answer({"model": WRITER, "messages": messages, "response_format": form})
    said: str = answer["choices"][0]["message"]["content"]
    return said


def test_its_findings_quote_the_report_and_its_questions_stand_on_findings() -> None:
    said = simulated_answer(BULLETS, fill(BULLETS.text, {"report": REPORT}))
    found = [ground_bullet(one, REPORT) for one in read_bullets(said)]
    assert [(one.polarity, one.fault) for one in found] == [("present", "")] * 4 + [("absent", "")]
    lines = [finding_line(n, one.polarity, one.bullet.statement, "") for n, one in enumerate(found, start=1)]
    text = fill(QUESTIONS.text, {"bullets": "\n".join(lines), "n_questions": "2"})
    polarities = {n: one.polarity for n, one in enumerate(found, start=1)}
    for seed in range(20):
        asked = read_questions(simulated_answer(QUESTIONS, text, seed=seed))
        assert [fault_of(one, polarities) for one in asked] == ["", ""]
    assert read_bullets(simulated_answer(BULLETS, fill(BULLETS.text, {"report": ""}))) == []


def test_its_verdicts_keep_to_their_schema_and_without_one_it_names_a_letter() -> None:
    verdicts = {json.loads(simulated_answer(PROMPTS[C3], str(n)))["verdict"] for n in range(40)}
    assert verdicts == {"pass", "fail", "undecided"}
    plain = chat_answer({"model": WRITER, "messages": [{"role": "user", "content": "Which?"}]})
    assert plain["choices"][0]["message"]["content"][0] in "ABCD"
    assert plain["usage"]["prompt_tokens"] == 1


@pytest.mark.parametrize("content", ["", "x", "127.0.0.1:80", "80@example.org"])
def test_what_is_no_port_names_no_endpoint(settings: Settings, content: str) -> None:
    settings.DEMO = True
    port_file().write_text(content)
    assert endpoints() == (LOCAL, HOSTED)

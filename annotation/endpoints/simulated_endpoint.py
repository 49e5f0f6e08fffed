"""The endpoint of a demonstration: two simulated models, with no model behind them, on any port of this machine.

``python -m annotation.endpoints.simulated_endpoint FILE`` serves them without the rest of the program."""

from __future__ import annotations

import hashlib
import json
import random
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from django.conf import settings

from annotation.call_enums import EndpointPlace
from annotation.endpoints.kernels.endpoint_list import Endpoint

SIMULATED, HOST, TOKENS_OF_IMAGE = "simulated", "127.0.0.1", 256
WRITER, JUDGE = "stand-in-json", "stand-in-judge"  # what one wrote, the other may judge
NOBODY = "Simulated: nobody looked at it."
_FINDING = re.compile(r"^(\d+)\. \[(present|absent)\] (.+)$", re.MULTILINE)


def port_file() -> Path:
    """Holds the port as long as the simulated models of this home are served."""
    return Path(settings.HOME) / "stand_in_port"


def simulated_endpoint() -> Endpoint | None:
    """On this machine, whatever the file says. None where no demonstration lives, or its models are not served."""
    try:
        port = int(port_file().read_text()) if settings.DEMO else 0
    except (OSError, ValueError):
        port = 0
    return Endpoint(SIMULATED, f"http://{HOST}:{port}/v1", EndpointPlace.MACHINE, model=WRITER) if port else None


@contextmanager
def served_simulation(path: Path) -> Iterator[int]:
    """They are served until the block ends, and the file holds their port as long."""
    with ThreadingHTTPServer((HOST, 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        path.write_text(str(server.server_port))
        try:
            yield server.server_port
        finally:
            path.unlink(missing_ok=True)
            server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        try:
            status, answer = 200, chat_answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            status, answer = 400, {"error": {"message": "The simulated models do not understand this request"}}
        self._send(status, answer)

    def do_GET(self) -> None:
        self._send(200, {"data": [{"id": name} for name in (WRITER, JUDGE)]})

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""


def chat_answer(body: dict[str, Any]) -> dict[str, Any]:
    """The answer to a chat, drawn from what was asked: what keeps to its schema, or a letter. Raises KeyError."""
    contents = [message["content"] for message in body["messages"]]
    parts = [part for one in contents for part in ([{"text": one}] if isinstance(one, str) else one)]
    text = "\n".join(part["text"] for part in parts if "text" in part)
    draw = random.Random(hashlib.sha256(json.dumps(contents).encode()).digest())  # noqa: S311
    form = body.get("response_format")
    said = (
        json.dumps(value_of(form["json_schema"]["schema"], text, draw)) if form else f"{draw.choice('ABCD')}. {NOBODY}"
    )
    n_input = len(text.split()) + TOKENS_OF_IMAGE * sum("image_url" in part for part in parts)
    return {
        "model": body["model"],
        "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": said}}],
        "usage": {"prompt_tokens": n_input, "completion_tokens": len(said.split())},
    }


_Findings = list[tuple[str, str, str]]


def value_of(schema: dict[str, Any], text: str, draw: random.Random) -> Any:
    """What keeps to it; findings and questions are made of what the text states."""
    names = [*schema.get("properties", ())]
    if names == ["bullets"]:
        stated = re.split(r"\.(?:\s|$)|\n", text.rpartition("Report:")[2])
        return {"bullets": [_bullet(one) for one in stated if one.strip()]}
    if names == ["questions"]:
        found, wanted = _FINDING.findall(text), re.search(r"Write (\d+) questions", text)
        present, absent = ([one for one in found if one[1] == polarity] for polarity in ("present", "absent"))
        both = (("presence", present, absent), ("negation", absent, present))
        sides = [one for one in both if one[1] and len(one[2]) >= 3]
        n_questions = int(wanted[1]) if wanted and sides else 0
        return {"questions": [_question(n, *draw.choice(sides), draw) for n in range(1, n_questions + 1)]}
    if names:
        return {name: value_of(schema["properties"][name], text, draw) for name in names}
    return draw.choice(schema.get("enum", [NOBODY]))


def _bullet(sentence: str) -> dict[str, Any]:
    words = sentence.rpartition(": ")[2].strip()
    polarity = "absent" if re.search(r"^no |\bwithout\b|\bnot seen\b", words, re.IGNORECASE) else "present"
    return {"quote": words, "statement": words, "polarity": polarity, "compares_with_prior": False, "location": ""}


def _question(number: int, task: str, right: _Findings, wrong: _Findings, draw: random.Random) -> dict[str, Any]:
    """Which of them is there, or is not."""
    findings = [draw.choice(right), *draw.sample(wrong, 3)]
    texts = [re.sub(r"(?i)^no ", "", words) for _n, _polarity, words in findings]
    options = [{"text": text, "bullets": [int(one[0])]} for text, one in zip(texts, findings, strict=True)]
    stem = f"What do the images show ({number})?" if task == "presence" else f"Which of these is absent ({number})?"
    question = {"task": task, "stem": stem, "options": options, "key": "A"}
    names = dict.fromkeys(("category", "subcategory", "question_class"), "Simulated")
    return {**question, **names, "explanation": NOBODY, "difficulty": "easy"}


if __name__ == "__main__":
    ends = (signal.SIGINT, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    with served_simulation(Path(sys.argv[1])):
        signal.sigwait(ends)

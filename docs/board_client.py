"""Take part in a leaderboard: take its questions, send answers, wait for their check, and name them for an edition.

board = Board("https://reading.example.org", "private-test", os.environ["REXVQA_TOKEN"])  # the token of a team
board.take_questions(Path("questions.zip"))  # questions.json says by the name of each what is asked
board.post("statements/", {"answers": {"model": "MedGemma", "version": "4b-it", ...}})
sent = board.send(Path("answers.jsonl"))  # a line for each: {"id": "its name", "pred_answer": "B"}
board.post(f"submissions/{sent['id']}/name/", {"edition": 1})
"""

import time
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import requests


class Board:
    def __init__(self, site: str, leaderboard: str, token: str) -> None:
        self.root, self.session, self.pause = (
            f"{site}/api/v1/leaderboards/{leaderboard}/",
            requests.Session(),
            time.sleep,
        )
        self.session.trust_env, self.session.headers["Authorization"] = False, f"Bearer {token}"

    def ask(self, method: str, path: str, **sent: Any) -> requests.Response:
        """Raises RuntimeError with what the site says, and with the lines or fields that it names."""
        answer = self.session.request(method, urljoin(self.root, path), timeout=300, allow_redirects=False, **sent)
        if answer.status_code >= 300:
            raise RuntimeError(f"{answer.status_code}: {answer.text}")
        return answer

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return self.ask("POST", path, json=body).json()

    def take_questions(self, to: Path) -> None:
        with self.ask("GET", "inputs/", stream=True) as answer, to.open("wb") as file:
            file.writelines(answer.iter_content(1 << 20))

    def send(self, file: Path, minutes: int = 10) -> Any:
        """What the check found; where it passed, ``is_sound`` is true. The same file again is the same submission."""
        with file.open("rb") as opened:
            address = self.ask("POST", "submissions/", files={"file": opened}).headers["Location"]
        for _second in range(60 * minutes):
            found = self.ask("GET", address).json()
            if found["checked_at"]:
                return found
            self.pause(1)
        raise TimeoutError(f"{address} is not checked after {minutes} minutes")

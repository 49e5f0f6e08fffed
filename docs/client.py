"""A client for the API of a reading room: one file to copy, which needs requests, and pandas for data frames alone.

    client = Client("https://reading.example.org", os.environ["REXVQA_TOKEN"])
    client.upload_questions("my-bank", Path("bank.json"))
    client.upload_images("my-bank", [Path("images.zip")])

What the site refuses is raised as ``Problem``. Whatever makes something is sent with an Idempotency-Key, so that a
request that is sent again makes nothing twice. docs/api.md says what everything means, docs/client.ipynb shows it.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit

import requests

if TYPE_CHECKING:
    import pandas

Json = dict[str, Any]
Form = tuple[Mapping[str, str], Sequence[tuple[str, Path]]]  # fields, and files by the name of their field
CHUNK = 1 << 20
TIMEOUT = (10, 300)  # seconds to connect, and between two parts of an answer


class Problem(Exception):
    """What the site refused: ``code`` is for programs, ``detail`` for people, ``errors`` name fields or rows."""

    def __init__(self, status: int, document: Mapping[str, Any]) -> None:
        self.status = status
        self.code: str = document.get("code", "")
        self.detail: str = document.get("detail") or document.get("title") or f"status {status}"
        self.errors: list[Json] = document.get("errors", [])
        self.facts: Json = document.get("facts", {})
        listed = "".join(f"\n  {one['field'] or '-'}: {one['message']}" for one in self.errors[:10])
        super().__init__(f"{status} {self.code}: {self.detail}{listed}")


class JobFailed(Exception):
    """Long work came to nothing; ``document``: the last answer, with ``refusals`` where there are any."""

    def __init__(self, document: Json) -> None:
        self.document = document
        lines = [document.get("error") or document.get("message") or document["state"]]
        super().__init__("\n  ".join([*map(str, lines), *(json.dumps(one) for one in document["refusals"][:10])]))


class Multipart:
    """A form with files, which are read while they are sent, and again when they are sent again."""

    def __init__(self, fields: Mapping[str, str], files: Sequence[tuple[str, Path]]) -> None:
        self.boundary = uuid.uuid4().hex
        self.parts: list[bytes | Path] = []
        for name, value in fields.items():
            self.parts.append(self._head(f'name="{name}"') + value.encode())
        for name, path in files:
            file = path.name.replace("%", "%25").replace('"', "%22")
            self.parts += [self._head(f'name="{name}"; filename="{file}"', "application/octet-stream"), path]
        self.parts.append(f"\r\n--{self.boundary}--\r\n".encode())

    def _head(self, about: str, kind: str = "text/plain; charset=utf-8") -> bytes:
        lines = (f"--{self.boundary}", f"Content-Disposition: form-data; {about}", f"Content-Type: {kind}")
        return "\r\n".join(("", *lines, "", "")).encode()

    def __len__(self) -> int:
        return sum(len(one) if isinstance(one, bytes) else one.stat().st_size for one in self.parts)

    def __iter__(self) -> Iterator[bytes]:
        for one in self.parts:
            if isinstance(one, bytes):
                yield one
            else:
                with one.open("rb") as file:
                    while chunk := file.read(CHUNK):
                        yield chunk


class Client:
    """Acts with one token, in its place. ``patience``: seconds to wait for long work, or for a site that is away."""

    def __init__(
        self, address: str, token: str, *, patience: float = 600, pause: Callable[[float], object] = time.sleep
    ) -> None:
        self.root = urljoin(address, "/api/v1/")
        self.patience, self.pause = patience, pause
        self.session = requests.Session()

        def with_token(request: requests.PreparedRequest) -> requests.PreparedRequest:
            request.headers["Authorization"] = f"Bearer {token}"
            return request

        self.session.auth = with_token  # not a header of the session: a .netrc file would win over that

    def send(
        self, method: str, path: str, *, body: Any = None, form: Form | None = None, key: str = "", **query: Any
    ) -> requests.Response:
        """Send it, and again where the site was asked too often or was away and nothing can be made twice.

        The answer is open: read it, or close it. Raises Problem.
        """
        headers = {"Idempotency-Key": key} if key else {}
        data = Multipart(*form) if form is not None else None
        if data is not None:
            headers["Content-Type"] = f"multipart/form-data; boundary={data.boundary}"
        place = urlsplit(path)._replace(scheme="", netloc="").geturl()  # the token goes to no other site
        asked: Json = {"params": query, "json": body, "data": data, "headers": headers}
        asked |= {"stream": True, "timeout": TIMEOUT, "allow_redirects": False}
        waited = 0.0
        while True:
            answer = self.session.request(method, urljoin(self.root, place), **asked)
            if answer.status_code < 300:
                return answer
            again = answer.status_code == 429 or (answer.status_code == 503 and (method == "GET" or bool(key)))
            seconds = _seconds(answer.headers.get("Retry-After", ""))
            if not again or waited + seconds > self.patience:
                raise _problem(answer)
            answer.close()
            self.pause(seconds)
            waited += seconds

    def get(self, path: str, **query: Any) -> Json:
        """One thing, or one page of a list."""
        return _json(self.send("GET", path, **query))

    def post(self, path: str, body: Json | None = None, **query: Any) -> Json:
        """An act that changes nothing when it comes twice, such as opening what is open."""
        return _json(self.send("POST", path, body=body or {}, **query))

    def make(self, path: str, body: Json | None = None, *, form: Form | None = None, key: str = "") -> Json:
        """Make something; with a ``key`` of your own a script that runs again within a day makes nothing twice.

        The address of work that the site goes on with is in the answer as ``location``, for ``wait``.
        """
        sent = {"form": form} if form is not None else {"body": body or {}}
        answer = self.send("POST", path, key=key or str(uuid.uuid4()), **sent)
        return _json(answer) | {"location": answer.headers.get("Location", "")}

    def rows(self, path: str, **query: Any) -> Iterator[Json]:
        """A list from its first page to its last. ``fields``, ``sort`` and filters as docs/api.md says."""
        following: str | None = path
        query.setdefault("limit", 1000)
        while following:
            page = self.get(following, **query)
            yield from page["results"]
            following, query = page["next"], {}  # the next address holds the query

    def download(self, path: str, to: Path, *, method: str = "GET") -> Path:
        """A file, however large; it appears under its name once it is whole."""
        part = to.with_name(f".{to.name}.part")
        with self.send(method, path) as answer, part.open("wb") as file:
            for chunk in answer.iter_content(CHUNK):
                file.write(chunk)
        part.replace(to)
        return to

    def wait(self, location: str, *, until: Callable[[Json], bool] = lambda _report: True) -> Json:
        """What this address reports once its work is done. Raises JobFailed, and TimeoutError after ``patience``."""
        waited, seconds = 0.0, 0.2
        while True:
            report = self.get(location)
            if report["state"] in ("failed", "cancelled"):
                raise JobFailed(report)
            if report["state"] == "succeeded" and until(report):
                return report
            if waited > self.patience:
                raise TimeoutError(f"{location}: {report['state']} after {waited:.0f} s")
            self.pause(seconds)
            waited, seconds = waited + seconds, min(5.0, seconds * 1.3)

    def upload_questions(self, bank: str, file: Path, *, skip_refused: bool = False) -> Json:
        """Have a question file checked and stored. Raises JobFailed with the refused records; then none is stored."""
        sent = self.make(f"banks/{bank}/imports/", form=({}, [("file", file)]))
        checked = self.wait(sent["location"])
        if checked["refusals"] and not skip_refused:
            raise JobFailed(checked)
        self.post(f"{sent['location']}store/", {"skip_refused": skip_refused and bool(checked["refusals"])})
        return self.wait(sent["location"], until=lambda report: bool(report["is_stored"]))

    def upload_images(self, bank: str, files: Sequence[Path]) -> Json:
        """DICOM, PNG, JPEG, or ZIP with the folders that the questions name. ``refusals`` say what was not taken."""
        sent = self.make("uploads/", form=({"bank": bank}, [("files", path) for path in files]))
        return self.wait(sent["location"])

    def draw_sample(self, bank: str, name: str, **how: Any) -> Json:
        """``by``, ``rated_by``, ``per_thousand``, ``seed``, ``filters``."""
        return self.make("samples/", {"bank": bank, "name": name, **how})

    def make_round(self, sample: str, name: str, reviewers: Sequence[str], **how: Any) -> Json:
        """``reviewers``: e-mail addresses; ``reviewers_per_question``, ``steps``, ``instructions``, ``due_at``, ..."""
        return self.make("rounds/", {"sample": sample, "name": name, "reviewers": list(reviewers), **how})

    def open_round(self, name: str, *, without_images: str = "") -> Json:
        """``without_images``: why it opens although some are missing."""
        return self.post(f"rounds/{name}/open/", {"without_images": without_images})

    def complete_round(self, name: str, *, confirmed_open: int = 0) -> Json:
        return self.post(f"rounds/{name}/complete/", {"confirmed_open": confirmed_open})

    def close_round(self, name: str, *, confirmed_open: int = 0) -> Json:
        return self.post(f"rounds/{name}/close/", {"confirmed_open": confirmed_open})

    def import_reviews(self, name: str, file: Path, *, dry_run: bool = False) -> Json:
        """Reviews that were made elsewhere: all rows or none."""
        return self.make(f"rounds/{name}/import/", form=({"dry_run": str(dry_run)}, [("file", file)]))

    def reviews(self, name: str) -> pandas.DataFrame:
        """Those of a round, a row for each reviewer and question; reviewers appear there under pseudonyms."""
        return frame(_lines(self.send("GET", f"rounds/{name}/reviews/jsonl/")))

    def make_study(self, plan: Mapping[str, Any]) -> Json:
        """A draft of a plan, as docs/reader-studies.md describes it; ``bank`` is the address of the bank."""
        return self.make("studies/", dict(plan))

    def freeze_study(self, name: str, *, read_elsewhere: bool = False) -> Json:
        return self.post(f"studies/{name}/freeze/", {"read_elsewhere": read_elsewhere})

    def open_study(self, name: str) -> Json:
        return self.post(f"studies/{name}/open/")

    def close_study(self, name: str, *, confirmed_open: int = 0) -> Json:
        return self.post(f"studies/{name}/close/", {"confirmed_open": confirmed_open})

    def import_readings(self, name: str, file: Path, *, dry_run: bool = False) -> Json:
        """Readings that were made elsewhere: all rows or none."""
        return self.make(f"studies/{name}/import/", form=({"dry_run": str(dry_run)}, [("file", file)]))

    def responses(self, name: str, *, first_look: bool = False) -> pandas.DataFrame:
        """What readers answered in a closed study. ``first_look`` unblinds it, for good."""
        path = f"studies/{name}/tables/responses/jsonl/"
        return frame(_lines(self.send("POST" if first_look else "GET", path)))

    def enter_model(self, name: str, **about: str) -> Json:
        """``version``, ``dated_on``, ``prompt``, ``decoding``, ``link``."""
        return self.make("models/", {"name": name, **about})

    def send_predictions(self, model: str, file: Path, *, study: str = "", bank: str = "", **how: str) -> Json:
        """Have a file of predictions checked and stored. Raises JobFailed with refused rows; then none is stored."""
        fields = {"model": model, **({"study": study} if study else {"bank": bank}), **how}
        sent = self.make("prediction-imports/", form=(fields, [("file", file)]))
        checked = self.wait(sent["location"])
        if not checked["may_be_stored"]:
            raise JobFailed(checked)
        self.post(f"{sent['location']}store/")
        return self.wait(sent["location"], until=lambda report: bool(report["is_stored"]))

    def analyse(self, study: str) -> Json:
        """An analysis, computed and stored, without its result: looking at that unblinds the study."""
        done = self.wait(self.make(f"studies/{study}/analyse/")["location"])
        return self.get(f"studies/{study}/analyses/{done['result']['analysis']}/")

    def analysis_result(self, study: str, analysis: str, *, first_look: bool = False) -> Json:
        """The stored result. ``first_look`` unblinds the study, for good."""
        return _json(self.send("POST" if first_look else "GET", f"studies/{study}/analyses/{analysis}/result/"))

    def figures(self, study: str, analysis: str) -> list[str]:
        return list(self.get(f"studies/{study}/analyses/{analysis}/figures/")["names"])

    def figure(self, study: str, analysis: str, name: str, to: Path, *, width: str = "two") -> Path:
        """As the ending of ``to`` says: svg, pdf or png. ``width``: one column of a journal, or two."""
        path = f"studies/{study}/analyses/{analysis}/figures/{quote(name)}/{width}.{to.suffix[1:]}"
        return self.download(path, to)


def frame(rows: Iterator[Json]) -> pandas.DataFrame:
    """Rows of a table, with its times as times in UTC."""
    import pandas  # needed here alone

    made = pandas.DataFrame.from_records(list(rows))
    for name in made.columns:
        if name.endswith("_at"):
            made[name] = pandas.to_datetime(made[name], utc=True)
    return made


def _lines(answer: requests.Response) -> Iterator[Json]:
    with answer:
        yield from (json.loads(line) for line in answer.iter_lines(CHUNK) if line)


def _json(answer: requests.Response) -> Json:
    with answer:
        return dict(answer.json())


def _seconds(text: str) -> float:
    return max(1.0, float(text)) if text.isdigit() else 5.0


def _problem(answer: requests.Response) -> Problem:
    """Also of an answer that is none of the site, such as that of a proxy."""
    with answer:
        is_ours = answer.headers.get("Content-Type", "").startswith("application/problem+json")
        return Problem(answer.status_code, answer.json() if is_ours else {})

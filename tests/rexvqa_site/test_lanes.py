"""Which requests wait for which, in front of the program."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.exceptions import BadRequest
from django.core.handlers.wsgi import WSGIRequest

from rexvqa_site.lanes import IN_MEMORY, MOST_TAKEN_IN, THREADS, Lane, Lanes, lane_of, take_in

PATHS = ("/answer/", "/images/x")


class Body:
    """A response as Django gives it."""

    streaming = False

    def __init__(self, content: bytes) -> None:
        self.content, self.closed = content, False

    def __iter__(self) -> Iterator[bytes]:
        return iter([self.content])

    def close(self) -> None:
        self.closed = True


class Slow:
    """A body that does not come before it is let go."""

    def __init__(self, content: bytes) -> None:
        self.content, self.go, self.asked = content, threading.Event(), threading.Event()

    def read(self, n: int) -> bytes:
        self.asked.set()
        assert self.go.wait(30)
        part, self.content = self.content[:n], self.content[n:]
        return part


def request(path: str = "/", body: bytes = b"", **more: Any) -> dict[str, Any]:
    return {"PATH_INFO": path, "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body), **more}


def echo(environ: dict[str, Any], start_response: Any) -> Body:
    start_response("200 OK", [("X-Thread", threading.current_thread().name)])
    return Body(environ["wsgi.input"].read())


@pytest.fixture
def told() -> list[Any]:
    return []


def test_a_request_is_answered_with_its_whole_body(told: list[Any]) -> None:
    content = b"x" * (IN_MEMORY + 10)
    answer = Lanes(echo, images="/images/")(request(body=content), lambda *said: told.append(said))
    assert b"".join(answer) == content
    assert told[0][0] == "200 OK"


@pytest.mark.parametrize(
    ("environ", "lane"),
    [
        (request("/read/study/"), Lane.ANSWERS),
        (request("/images/abc"), Lane.IMAGES),
        (request("/image/abc/"), Lane.ANSWERS),
        ({"PATH_INFO": "/uploads/new/", "CONTENT_LENGTH": str(MOST_TAKEN_IN + 1)}, Lane.UPLOADS),
        ({"PATH_INFO": "/images/abc", "CONTENT_LENGTH": str(MOST_TAKEN_IN + 1)}, Lane.UPLOADS),
        ({"PATH_INFO": "/", "CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}, Lane.UPLOADS),
        ({"PATH_INFO": "/", "CONTENT_LENGTH": "-5"}, Lane.ANSWERS),
        (request("/login/", REQUEST_METHOD="POST"), Lane.PASSWORDS),
        (request("/login/", REQUEST_METHOD="GET"), Lane.ANSWERS),
    ],
)
def test_every_request_has_its_lane(environ: dict[str, Any], lane: Lane) -> None:
    assert lane_of(environ, "/images/", ("/login/",)) == lane


def test_people_who_send_slowly_keep_nobody_waiting(told: list[Any]) -> None:
    lanes = Lanes(echo, images="/images/")
    slow = [Slow(b"late") for _ in range(3 * THREADS[Lane.ANSWERS])]
    answers: list[bytes] = []

    def ask(body: Slow) -> None:
        environ = {"PATH_INFO": "/", "CONTENT_LENGTH": "4", "wsgi.input": body}
        answers.append(b"".join(lanes(environ, lambda *_said: None)))

    clients = [threading.Thread(target=ask, args=(body,)) for body in slow]
    for client, body in zip(clients, slow, strict=True):
        client.start()
        assert body.asked.wait(30)
    assert b"".join(lanes(request(body=b"quick"), lambda *said: told.append(said))) == b"quick"
    assert answers == []
    for client, body in zip(clients, slow, strict=True):
        body.go.set()
        client.join(30)
    assert answers == [b"late"] * len(slow)


def test_of_one_address_only_so_many_bodies_are_awaited(told: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rexvqa_site.lanes.MOST_AWAITED", 1)
    lanes, slow = Lanes(echo, images="/images/"), Slow(b"late")

    def ask(address: str, body: bytes = b"quick") -> list[bytes]:
        return list(lanes(request(body=body, REMOTE_ADDR=address), lambda *said: told.append(said[0])))

    held = {"PATH_INFO": "/", "CONTENT_LENGTH": "4", "wsgi.input": slow, "REMOTE_ADDR": "10.0.0.1"}
    client = threading.Thread(target=lambda: lanes(held, lambda *said: None))
    client.start()
    assert slow.asked.wait(30)
    assert (ask("10.0.0.1"), ask("10.0.0.2"), ask("10.0.0.1", b"")) == ([], [b"quick"], [b""])
    slow.go.set()
    client.join(30)
    assert ask("10.0.0.1") == [b"quick"]
    assert told == ["503 Service Unavailable", "200 OK", "200 OK", "200 OK"]
    assert not lanes.awaited.n


def test_images_wait_for_images_only() -> None:
    go = threading.Event()
    begun = threading.Semaphore(0)

    def program(environ: dict[str, Any], start_response: Any) -> Body:
        if environ["PATH_INFO"].startswith("/images/"):
            begun.release()
            assert go.wait(30)
        return echo(environ, start_response)

    lanes = Lanes(program, images="/images/")
    clients = [
        threading.Thread(target=lambda: list(lanes(request("/images/x"), lambda *_said: None))) for _ in range(20)
    ]
    for client in clients:
        client.start()
    for _ in range(THREADS[Lane.IMAGES]):
        assert begun.acquire(timeout=30)
    assert b"".join(lanes(request(body=b"answer"), lambda *_said: None)) == b"answer"
    assert not begun.acquire(blocking=False)
    go.set()
    for client in clients:
        client.join(30)


def test_an_image_gives_way_to_answers() -> None:
    go, answering = threading.Event(), threading.Event()
    order: list[str] = []

    def program(environ: dict[str, Any], start_response: Any) -> Body:
        if environ["PATH_INFO"] == "/answer/":
            answering.set()
            assert go.wait(30)
        order.append(environ["PATH_INFO"])
        return echo(environ, start_response)

    lanes = Lanes(program, images="/images/", patience=30)
    clients = [
        threading.Thread(target=lambda path=path: list(lanes(request(path), lambda *_said: None))) for path in PATHS
    ]
    clients[0].start()
    assert answering.wait(30)
    clients[1].start()
    assert not lanes.traffic.wait_until_idle(0)
    go.set()
    for client in clients:
        client.join(30)
    assert order == list(PATHS)


def test_an_image_does_not_wait_for_ever() -> None:
    lanes = Lanes(echo, images="/images/", patience=0)
    with lanes.traffic:
        assert b"".join(lanes(request("/images/x", body=b"image"), lambda *_said: None)) == b"image"


def test_a_client_that_goes_in_the_middle_reaches_nothing(told: list[Any]) -> None:
    reached: list[str] = []

    def program(environ: dict[str, Any], start_response: Any) -> Body:
        reached.append(environ["PATH_INFO"])
        return echo(environ, start_response)

    environ = {"PATH_INFO": "/", "CONTENT_LENGTH": "10", "wsgi.input": io.BytesIO(b"half")}
    assert not list(Lanes(program, images="/images/")(environ, lambda *said: told.append(said)))
    assert told[0][0].startswith("400")
    assert reached == []


@pytest.mark.parametrize("read", [WSGIRequest.read, WSGIRequest.readlines, lambda sent: sent.read(MOST_TAKEN_IN)])
def test_what_ends_early_is_never_taken_for_whole(read: Callable[[WSGIRequest], object], told: list[Any]) -> None:
    def program(environ: dict[str, Any], start_response: Any) -> Body:
        read(WSGIRequest(environ))
        return echo(environ, start_response)

    sent = request("/uploads/new/", b"first line\n" * 99, REQUEST_METHOD="POST")
    with pytest.raises(BadRequest, match="ended before"):
        Lanes(program, images="/images/")(sent | {"CONTENT_LENGTH": str(MOST_TAKEN_IN + 1)}, told.append)
    assert told == []


def test_what_the_program_says_is_closed_where_it_ran_but_a_file_is_passed_on() -> None:
    plain, file = Body(b"plain"), Body(b"file")
    file.streaming = True
    for body, closed in ((plain, True), (file, False)):

        def program(_environ: dict[str, Any], start_response: Any, body: Body = body) -> Body:
            start_response("200 OK", [])
            return body

        assert b"".join(Lanes(program, images="/images/")(request(), lambda *_said: None)) == body.content
        assert body.closed is closed


def test_django_reads_an_upload_that_is_too_large_to_be_taken_in(told: list[Any]) -> None:
    def program(environ: dict[str, Any], start_response: Any) -> Body:
        start_response("200 OK", [])
        upload = WSGIRequest(environ)
        return Body(upload.readline() + upload.read())

    content = b"first line\n" + b"x" * MOST_TAKEN_IN
    environ = request("/uploads/new/", content, REQUEST_METHOD="POST")
    assert lane_of(environ, "/images/") is Lane.UPLOADS
    assert b"".join(Lanes(program, images="/images/")(environ, lambda *said: told.append(said))) == content


def test_a_body_without_length_needs_nothing_taken_in() -> None:
    assert take_in({"CONTENT_LENGTH": ""})


def test_people_who_log_in_keep_nobody_else_waiting() -> None:
    """Forty log-ins at once, each of which hashes a password, and one reviewer who turns to the next case."""
    go, begun = threading.Event(), threading.Semaphore(0)

    def program(environ: dict[str, Any], start_response: Any) -> Body:
        if environ["PATH_INFO"] == "/login/":
            begun.release()
            assert go.wait(30)
        return echo(environ, start_response)

    lanes = Lanes(program, images="/images/", passwords=("/login/",))
    clients = [
        threading.Thread(target=lambda: list(lanes(request("/login/", REQUEST_METHOD="POST"), lambda *_said: None)))
        for _ in range(40)
    ]
    for client in clients:
        client.start()
    for _ in range(THREADS[Lane.PASSWORDS]):
        assert begun.acquire(timeout=30)
    for path in PATHS:
        assert b"".join(lanes(request(path, b"next"), lambda *_said: None)) == b"next"
    assert not begun.acquire(blocking=False)
    go.set()
    for client in clients:
        client.join(30)

"""Who is at work while parts of the site are killed, and what they see. Only where the settings of a site are set."""

from __future__ import annotations

import http.client
import re
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from annotation.enums import JobState, Role
from annotation.jobs.queueing import REHEARSAL, SWEEP, RehearsalParams, enqueue
from annotation.models import Job, User, WorkerBeat
from readerstudy.design.kernels.documents import Rules
from readerstudy.models import Response
from tests.annotation.review.cases import make_round
from tests.annotation.review.pixels import give_pixels
from tests.browser.readerstudy.reading import Device
from tests.browser.review.test_journey import BLIND, GOOD, answer, press
from tests.conftest import make_person
from tests.readerstudy.studies import enrol, make_study
from tests.stack.parts import PATIENCE, Stack
from tests.torture import rows
from tests.torture.clients import TOKEN, Reader
from tests.torture.ledger import Entry, Ledger
from tests.ways_in import session_of

N_READERS, N_CASES, N_IN_BROWSER = 4, 2_000, 60
BEAT = 0.4  # seconds between the answers of a reader
BETWEEN_PAGES = 0.6  # seconds: nginx lets one address ask for two pages of log-in a second
GOAL = 60.0  # seconds until another has taken over
WORKING, SPARE = "worker jobs 1", "worker jobs 2"
VICTIMS = ("web 1", "web 2", WORKING, "worker waiting 1", "nginx", "Redis", "PostgreSQL")
UPGRADE = "upgrade, one after the other"


class Row(NamedTuple):
    """``n_errors``: what went wrong where nothing may."""

    killed: str
    seen: str
    lost: int
    seconds: float
    n_errors: int = 0


class Colleague(Reader):
    """Reads through nginx, at a pace; knows what it got in place of an answer, and when it was last told."""

    def __init__(self, stack: Stack, slug: str, session: str, ledger: Ledger, seed: int) -> None:
        cookies = f"{settings.SESSION_COOKIE_NAME}={session}; {settings.CSRF_COOKIE_NAME}={TOKEN}"
        super().__init__(stack.ports["https"], slug, cookies, ledger, seed)
        self.headers["Origin"] = stack.url
        self.tls, self.end = stack.trust(), threading.Event()
        self.told_at, self.amiss = 0.0, Counter[int]()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=self.tls)

    def read(self, case: Any) -> Any:
        return {"cases": []} if self.end.wait(BEAT) else super().read(case)

    def ask(self, path: str, fields: Any) -> tuple[int, bytes]:
        begun = time.monotonic()
        status, said = super().ask(path, fields)
        if 0 < status < http.client.INTERNAL_SERVER_ERROR:
            self.told_at = begun
        else:
            self.amiss[status] += 1
        return status, said


class Surfer(threading.Thread):
    """Opens a page and everything that it names, again and again."""

    def __init__(self, stack: Stack) -> None:
        super().__init__(daemon=True)
        self.stack, self.end, self.n, self.amiss = (stack, threading.Event(), 0, list[str]())

    def run(self) -> None:
        while not self.end.wait(BETWEEN_PAGES):
            page = self.get("/login/").decode()
            for path in re.findall(r'(?:src|href)="(/static/[^"]+)"', page):
                self.get(path)

    def get(self, path: str) -> bytes:
        self.n += 1
        try:
            with urllib.request.urlopen(self.stack.url + path, context=self.stack.trust(), timeout=60) as answer:
                body: bytes = answer.read()
                return body
        except OSError as problem:
            self.amiss.append(f"{path}: {problem}")
            return b""


class Watch:
    """Everybody who is at work while something is killed."""

    def __init__(self, stack: Stack, page: Page, way_in: dict[str, Any]) -> None:
        self.stack, self.ledger = stack, Ledger()
        self.page, self.device, self.position = page, Device(page), 1
        self.readers = [
            Colleague(stack, way_in["slug"], session, self.ledger, n) for n, session in enumerate(way_in["sessions"])
        ]
        for reader in self.readers:
            reader.start()
        assert self.ledger.wait_for(2 * N_READERS, PATIENCE), [reader.problem for reader in self.readers]

    def strike(self, victim: str) -> Row:
        job = self.begin_job() if victim == WORKING else None
        struck, begun, n_amiss = timezone.now(), time.monotonic(), self.amiss()
        self.stack.kill(victim)
        if victim == "Redis":
            job = rehearse()
        words = self.answers(3)
        self.wait(lambda: all(one.told_at > begun for one in self.readers), "readers")
        connection.close()
        if job:
            self.wait(partial(is_in, job, JobState.SUCCEEDED), "job")
        elif victim.startswith("worker"):
            self.wait(lambda: has_swept_since(struck), "sweep")
        seconds = time.monotonic() - begun
        told = ", ".join(f"{n} x {status or 'no answer'}" for status, n in sorted((self.amiss() - n_amiss).items()))
        if victim.startswith("web"):
            self.wait(lambda: self.answers_itself(victim), victim)
        return Row(victim, f"page: {words}; programs asked again after {told or 'nothing'}", self.lost(), seconds)

    def upgrade(self) -> Row:
        surfer, begun, n_amiss = Surfer(self.stack), time.monotonic(), self.amiss()
        surfer.start()
        self.stack.upgrade()
        words = self.answers(3)
        surfer.end.set()
        surfer.join(PATIENCE)
        amiss = [f"{n} x {status}" for status, n in (self.amiss() - n_amiss).items()] + surfer.amiss
        seen = f"page: {words}; {surfer.n} pages and files; errors: {len(amiss)} {amiss[:3] or ''}"
        return Row(UPGRADE, seen, self.lost(), time.monotonic() - begun, len(amiss))

    # --- the page of a reader -------------------------------------------------------------------
    def answers(self, n: int) -> str:
        """So many cases in Chromium; the words about where the answers are, as they came, until all are stored."""
        words = []
        for _ in range(n):
            self.device.answers("2", then=self.position + 1)
            self.position += 1
            words.append(self.page.locator("#case-saving").inner_text())
        expect(self.page.locator("#case-saving")).to_have_text("saved")
        return " / ".join(dict.fromkeys([*words, "saved"]))

    # --- rows -----------------------------------------------------------------------------------
    def begin_job(self) -> Job:
        """One that this worker has in hand: the other comes when it has begun."""
        self.stack.end(SPARE)
        job = rehearse()
        self.wait(partial(is_in, job, JobState.RUNNING), "job")
        self.stack.begin(SPARE, self.stack.parts[SPARE])
        return job

    def answers_itself(self, victim: str) -> bool:
        address = f"http://127.0.0.1:{self.stack.ports[victim]}/healthz"
        with suppress(OSError), urllib.request.urlopen(address, timeout=5):
            return True
        return False

    def lost(self) -> int:
        """Of all acknowledged answers, those of Chromium included."""
        verdict = self.ledger.compare(stored())
        kept = Response.objects.filter(is_confirmed=True, reading__enrolment__study__slug="browser").count()
        return len(verdict.lost) + len(verdict.duplicate) + self.position - 1 - kept

    def amiss(self) -> Counter[int]:
        return sum((reader.amiss for reader in self.readers), Counter())

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + 4 * GOAL
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what}: {[reader.problem for reader in self.readers]}")
            time.sleep(0.1)


def rehearse() -> Job:
    connection.close()
    return enqueue(
        REHEARSAL, "Rehearsal", RehearsalParams(steps=12, seconds_per_step=0.25), actor=None, at=timezone.now()
    )


def is_in(job: Job, state: JobState) -> bool:
    return Job.objects.filter(pk=job.pk, state=state).exists()


def has_swept_since(moment: datetime) -> bool:
    return WorkerBeat.objects.filter(name=SWEEP, beat_at__gt=moment).exists()


def stored() -> Iterator[Entry]:
    """Lazy: asked for while no reader is told anything."""
    found: Any = rows.stored()
    yield from (Entry(*row) for row in found["answers"])


def fill() -> dict[str, Any]:
    """A study for programs, one with images and a round for Chromium, and who goes in."""
    with transaction.atomic():
        way_in = rows.fill(N_READERS, N_CASES)
        reader = User.objects.create_user("browser@example.org", None, name="Browser")
        enrol(make_study("Browser", n_cases=N_IN_BROWSER, n_orders=1, pixels=True, rules=Rules(n_ready=6)), reader)
        rita = make_person("Rita", Role.REVIEWER)
        for seed, question in enumerate(make_round(rita, name="Pilot").plan.bank.questions.all()):
            for image in question.exam.images.all():
                give_pixels(image, seed=1000 + 2 * seed + image.position)
    return {**way_in, "reader": session_of(reader), "rita": session_of(rita)}


@contextmanager
def opened(browser: Browser, stack: Stack, session: str) -> Iterator[Page]:
    size: Any = {"width": 1366, "height": 768}
    context = browser.new_context(base_url=stack.url, ignore_https_errors=True, viewport=size)
    context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": stack.url}])
    yield context.new_page()
    context.close()


def review(page: Page) -> None:
    """One question more, by keyboard."""
    page.goto("/review/rounds/pilot/continue/")
    answer(page, "2", "e")
    press(page, *map(str, GOOD.values()), "1", "1", "a", "Enter")
    expect(page.locator(BLIND)).to_be_visible()


def run(stack: Stack, browser: Browser) -> list[Row]:
    way_in = fill()
    found = []
    expect.set_options(timeout=GOAL * 1000)
    with opened(browser, stack, way_in["rita"]) as reviewing, opened(browser, stack, way_in["reader"]) as reading:
        review(reviewing)
        reading.goto("/read/browser/room/")
        watch = Watch(stack, reading, way_in)
        watch.device.sees(1)
        for victim in VICTIMS:
            found.append(watch.strike(victim))
            print(found[-1], flush=True)
        found.append(watch.upgrade())
        review(reviewing)
        for reader in watch.readers:
            reader.end.set()
            reader.join(PATIENCE)
        problems = [reader.problem for reader in watch.readers if reader.problem]
        assert not problems, problems
    return found

"""Readers in the site that the page tests look at: readers at every step, links, an open and a closed study."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from annotation.models import User
from readerstudy.design.kernels.documents import Rules
from readerstudy.design.voiding import void_case
from readerstudy.enrolment.inviting import invite_reader
from readerstudy.enums import Block, StudyState
from readerstudy.models import Enrolment, ReaderStudy, ReadingSession, RefusedAnswer, Remark
from readerstudy.predictions.looks import view_interim_results
from tests.annotation.review.cases import make_bank
from tests.browser.pages.place import Place
from tests.conftest import make_person
from tests.readerstudy.exports.read_study import read
from tests.readerstudy.studies import enrol, make_study, places_of

RULES = Rules(time_limit_s=90, confidence=True, cannot_tell=True, break_every=50, show_results=True, practice_pass=2)


def seat_readers(place: Place) -> None:
    """The open study has a reader named after each step; a closed one has a reader who has finished."""
    soon = timezone.now() + timedelta(days=20)
    words: dict[str, Any] = {
        "consent": place.said("You agree to take part."),
        "instructions": place.said("Choose one option."),
        "contact": place.named("study@example.org"),
        "deadline_at": soon,
        "time_zone": "Europe/Berlin",
    }
    trial = make_study("Trial", n_cases=4, n_practice=2, n_orders=10, rules=RULES, bank=make_bank("Trials"), **words)
    over = make_study("Over", n_cases=3, rules=RULES, state=StudyState.CLOSED, bank=make_bank("Overs"), **words)
    for study in (trial, over):
        ReaderStudy.objects.filter(pk=study.pk).update(name=place.named(study.name))
        study.refresh_from_db()
    now = timezone.now()
    steps: dict[str, dict[str, Any]] = {
        "new": {},
        "agreed": {"consented_at": now},
        "told": {"consented_at": now, "facts": {"training": "resident", "years": 3}},
        "instructed": {"consented_at": now, "facts": {"training": "resident"}, "instructed_at": now},
    }
    for name, columns in steps.items():
        enrolment = enrol(trial, _reader(place, name), ready=False)
        Enrolment.objects.filter(pk=enrolment.pk).update(**columns)
    later: dict[str, dict[str, Any]] = {
        "practising": {"practised_at": None},
        "stuck": {"practised_at": None},
        "reading": {},
        "finished": {"finished_at": now},
        "gone": {"withdrawn_at": now},
    }
    for name, columns in later.items():
        enrolment = enrol(trial, _reader(place, name))
        Enrolment.objects.filter(pk=enrolment.pk).update(**columns)
        place.things[f"enrolment {name}"] = enrolment
    done = enrol(over, _reader(place, "done"))
    Enrolment.objects.filter(pk=done.pk).update(finished_at=now, declared_at=now)
    link = invite_reader(
        trial, trial.sets.get(), email="", name=place.named("Nina"), actor=place.people["cora"], at=now
    )
    place.things |= {"trial": trial, "over": over, "study link": link.token}
    _give_work(place)


def _give_work(place: Place) -> None:
    """A reader with sittings, times, a flagged case and a refused answer; voided cases; results that were seen."""
    now, cora = timezone.now(), place.people["cora"]
    enrolment: Enrolment = place.things["enrolment reading"]
    ReadingSession.objects.create(enrolment=enrolment, started_at=now - timedelta(hours=2), seen_at=now)
    for seconds, case in zip((31, 44), places_of(enrolment), strict=False):
        reading = read(case, {"option": "B", "active_ms": seconds * 1000, "time_rule": "active-1"})
    Remark.objects.create(reading=reading, kind="fault", text=place.said("Two clavicles are gone."), key="f", at=now)
    RefusedAnswer.objects.create(presented=case, reason="other_answer", option="A", key="k", at=now)
    Enrolment.objects.filter(pk=enrolment.pk).update(
        deadline_at=now + timedelta(days=40),
        facts={"training": "resident", "years": 3, "films_per_week": 40, "exposure_text": place.said("A talk.")},
        display={"width": 1366, "height": 768, "pixel_ratio": 1.5, "n_failed": 1},
    )
    for case in places_of(place.things["enrolment stuck"], Block.PRACTICE):
        read(case, {"option": "A"})
    trial = place.things["trial"]
    void_case(trial.cases.get(block="main", number=4), place.said("An image is missing."), actor=cora, at=now)
    view_interim_results(trial, place.said("The sponsor asked for a safety look."), actor=cora, at=now)
    void_case(trial.cases.get(block="main", number=3), place.said("Two keys are right."), actor=cora, at=now)


def _reader(place: Place, name: str) -> User:
    person = place.people[name] = make_person(name.capitalize())
    person.name = place.named(person.name)
    person.save()
    return person

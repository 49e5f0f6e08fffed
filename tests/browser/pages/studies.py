"""Reader studies of the site in which every page has something to show: one in every state."""

from __future__ import annotations

from django.utils import timezone

from annotation.models import QuestionBank
from readerstudy.design.creating import create_study
from readerstudy.design.kernels.drawing import DrawRequest, request_document
from readerstudy.design.kernels.plan import Plan, PlannedArm
from readerstudy.enums import Information, StudyState
from readerstudy.models import AnalysisReport, ReaderStudy
from readerstudy.results.looking import share_results
from tests.annotation.review.cases import OPTIONS, make_revision
from tests.browser.pages.place import Place
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.results.made import analysed_study
from tests.readerstudy.studies import enrol, make_study

N_QUESTIONS = 12
PAIRS = (("Good", "each reader"), ("Poor", "R7"))  # in the plan of the results; the last one is not there


def hold_studies(place: Place) -> None:
    """Two drafts (one ready to be frozen, one without anything) and a study in each later state."""
    bank = make_questions(N_QUESTIONS, name="Reading bank")
    QuestionBank.objects.filter(pk=bank.pk).update(name=place.named("Reading bank"))
    make_revision(bank, N_QUESTIONS + 1, stem=place.said("What?"), options=[place.said(text) for text in OPTIONS])
    bank.refresh_from_db()
    place.things["study draft"] = _draft(place, bank)
    empty = Plan(name=place.named("New draft"), bank=bank.slug)
    place.things["study empty"] = create_study(empty, actor=place.people["cora"], at=timezone.now())
    for name, state in (
        ("frozen", StudyState.FROZEN),
        ("open", StudyState.OPEN),
        ("closed", StudyState.CLOSED),
    ):
        study = place.things[f"study {name}"] = _study(place, name.capitalize(), state)
        if state != StudyState.FROZEN:
            enrol(study, place.people["remo"])
    analysis = analysed_study("Resultsstudy", pairs=PAIRS, unblinded_at=timezone.now())
    place.things |= {"analysis": analysis, "study results": analysis.study}
    note, cora = place.said("the journal"), place.people["cora"]
    contents = [[name, 1234, "0" * 64, "what it is"] for name in ("README.txt", "data/ratings.csv", "tables/pairs.csv")]
    AnalysisReport.objects.create(
        analysis=analysis, sha256="0" * 64, n_bytes=12_345, contents=contents, made_by=cora, made_at=timezone.now()
    )
    place.things["results link"] = share_results(analysis, days=7, note=note, actor=cora, at=timezone.now()).token


def _draft(place: Place, bank: QuestionBank) -> ReaderStudy:
    asked = DrawRequest(n=6, n_practice=2, n_sets=2, n_shared=2)
    reason = place.said("read by two of us")
    plan = Plan(
        name=place.named("Draft study"),
        bank=bank.slug,
        draw=request_document(asked, reason),
        arms=(PlannedArm(Information.INDICATION),),
        consent=place.said("You agree to take part."),
        instructions=place.said("Choose one option."),
        contact=place.named("Cora"),
        deadline_at=timezone.now(),
        time_zone="Europe/Zurich",
    )
    return create_study(plan, actor=place.people["cora"], at=timezone.now())


def _study(place: Place, name: str, state: StudyState) -> ReaderStudy:
    study = make_study(f"{name}study", state=state, n_cases=3, n_practice=1)
    ReaderStudy.objects.filter(pk=study.pk).update(
        name=place.named(f"{name} study"),
        contact=place.named("Cora"),
        closed_at=timezone.now() if state == StudyState.CLOSED else None,
    )
    study.refresh_from_db()
    return study

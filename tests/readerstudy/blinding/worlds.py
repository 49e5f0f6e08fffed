"""Two worlds that a reader must not be able to tell apart.

A world is a bank, a frozen study, one reader who is about to read and two who have read. What readers are shown is the
same in both: questions, images, orders, practice keys. What they must not learn differs in every case: key,
explanation, report, task, category, subcategory, class, difficulty, and what the other readers said.
"""

from __future__ import annotations

import json
import random
import uuid
from dataclasses import dataclass
from datetime import timedelta

from annotation.enums import AssignmentState, IdentifierKind, Role, RoundState
from annotation.models import (
    AnswerKey,
    Assignment,
    Exam,
    Job,
    QuestionBank,
    Report,
    ReviewRound,
    Revision,
    SampledQuestion,
    SamplingPlan,
    SourceIdentifier,
    Upload,
    User,
)
from readerstudy.conducting.lifecycle import open_study
from readerstudy.design.checking import cases_with_information, sha256_of_information
from readerstudy.design.creating import create_study
from readerstudy.design.freezing import freeze_study
from readerstudy.design.kernels.documents import Rules
from readerstudy.design.kernels.plan import Plan, PlannedArm, PlannedCase
from readerstudy.enums import Block, Information, PredictionForm, RemarkKind, ResponseState
from readerstudy.models import (
    Analysis,
    AnalysisReport,
    Enrolment,
    ModelComparison,
    ModelEntry,
    Prediction,
    PredictionRun,
    PresentationOrder,
    ReaderStudy,
    Reading,
    Remark,
    Response,
    ResultsLink,
    TimingEvent,
)
from tests.annotation.review.cases import NOON, make_bank, make_revision
from tests.annotation.review.pixels import give_pixels
from tests.annotation.review.priors import give_prior
from tests.conftest import make_person
from tests.readerstudy.blinding.asked_models import ask_models
from tests.readerstudy.blinding.truth import Truth
from tests.readerstudy.studies import places_of

PRACTICE_KEY = "C"
PRACTICE_EXPLANATION = "The practice case shows a pneumothorax on the right."
INDICATION = "Cough for three weeks."  # where the arm shows it
FIRST_PRACTICE = 1001
WITH_PRIOR = 4  # of every four cases one has a prior exam
RULES = Rules(confidence=True, slips=True, cannot_tell=True, shuffle_options=True, break_every=5)


@dataclass(frozen=True)
class World:
    truth: Truth
    study: ReaderStudy
    reader: User
    enrolment: Enrolment
    others: tuple[Enrolment, ...]


def build_world(
    truth: Truth,
    chance: Chance,
    *,
    n_cases: int = 40,
    n_practice: int = 3,
    information: Information = Information.NONE,
    rules: Rules = RULES,
) -> World:
    """The same for everybody first, then what is hidden, then what the others said.

    Each part draws its random names anew, so that more rows of one part change no name of the next.
    """
    chance.start("shown")
    bank = _bank(n_cases, n_practice)
    chance.start("people")
    reader, *others = [make_person(name) for name in ("Rea", "Otto", "Olga")]
    chance.start("hidden")
    hide(bank, truth)
    if information == Information.INDICATION:
        Report.objects.update(indication=INDICATION)
    chance.start("study")
    study = _study(bank, n_cases, n_practice, information, rules)
    enrolments = [_enrol(study, person, is_ready=person != reader) for person in (*others, reader)]
    chance.start("others")
    hear_others(enrolments[:2], truth)
    chance.start("models")
    predict(study, truth)
    chance.start("asked models")
    ask_models(study, truth)
    chance.start("results")
    look_at_results(study, truth)
    chance.start("review")
    review_beside(bank, truth)
    chance.start("session")
    return World(truth, study, reader, enrolments[2], tuple(enrolments[:2]))


class Chance:
    """Random names that come out the same in both worlds, part by part."""

    def __init__(self) -> None:
        self._source = random.Random("start")

    def start(self, part: str) -> None:
        self._source = random.Random(part)

    def token_bytes(self, nbytes: int | None = None) -> bytes:
        return self._source.randbytes(nbytes or 32)

    def token_hex(self, nbytes: int | None = None) -> str:
        return self.token_bytes(nbytes).hex()

    def token_urlsafe(self, nbytes: int | None = None) -> str:
        return "".join(self.choice(URL_SAFE) for _ in range(((nbytes or 32) * 4 + 2) // 3))

    def choice(self, signs: str) -> str:
        return self._source.choice(signs)

    def uuid4(self) -> uuid.UUID:
        return uuid.UUID(bytes=self._source.randbytes(16), version=4)


URL_SAFE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def _bank(n_cases: int, n_practice: int) -> QuestionBank:
    bank = make_bank("Blind")
    for number in (*range(1, n_cases + 1), *range(FIRST_PRACTICE, FIRST_PRACTICE + n_practice)):
        revision = make_revision(bank, number, options=[f"{word} {number}" for word in ("Edema", "Mass", "Rib", "Gas")])
        for image in revision.question.exam.images.all():
            give_pixels(image, seed=number * 2 + image.position, shape=(24, 20))
        if number % WITH_PRIOR == 0:
            give_prior(revision.question.exam, seed=5_000 + number * 2)
    return bank


def hide(bank: QuestionBank, truth: Truth) -> None:
    """Write what readers must not learn over all questions; of the practice block key and explanation stay."""
    for revision in Revision.objects.filter(bank=bank).select_related("question"):
        number = revision.question.number
        Revision.objects.filter(pk=revision.pk).update(
            task=truth.task(number),
            difficulty=truth.difficulty(number),
            category=truth.token("category", number),
            subcategory=truth.token("subcategory", number),
            question_class=truth.token("class", number),
            content_sha256=truth.token("content", number),
        )
        practice = number >= FIRST_PRACTICE
        AnswerKey.objects.filter(revision=revision).update(
            key=PRACTICE_KEY if practice else truth.key(number),
            explanation=PRACTICE_EXPLANATION if practice else truth.token("explanation", number) * (1 + number % 3),
            extra=f'{{"extra": "{truth.token("extra", number)}"}}',
        )
        report = {part: truth.token(part, number) for part in ("findings", "impression", "indication", "comparison")}
        Report.objects.filter(exam=revision.question.exam_id).update(**report)
        _name_source(bank, revision, truth)


def _name_source(bank: QuestionBank, revision: Revision, truth: Truth) -> None:
    """What question, exam and image files are called at their source."""
    number, exam = revision.question.number, revision.question.exam_id
    kinds = {
        "question key": IdentifierKind.QUESTION_KEY,
        "exam key": IdentifierKind.EXAM_KEY,
        "path": IdentifierKind.IMAGE_PATH,
        "prior key": IdentifierKind.PRIOR_EXAM,
    }
    for part, kind in kinds.items():
        SourceIdentifier.objects.create(
            digest=number,
            kind=kind,
            value=truth.token(part, number),
            bank=bank,
            question_id=revision.question_id,
            exam_id=exam,
        )


def _study(bank: QuestionBank, n_cases: int, n_practice: int, information: Information, rules: Rules) -> ReaderStudy:
    plan = Plan(
        name="Blind trial",
        bank=bank.slug,
        seed=11,
        cases=tuple(PlannedCase(n, accepted_because="checked") for n in range(1, n_cases + 1)),
        practice=tuple(PlannedCase(FIRST_PRACTICE + n, accepted_because="checked") for n in range(n_practice)),
        arms=(PlannedArm(information),),
        rules=rules,
        consent="You agree to take part.",
        instructions="Choose one option.",
        contact="study@example.org",
        simulated=True,
    )
    study = create_study(plan, actor=None, at=NOON)
    freeze_study(study, actor=None, at=NOON, indications_read=sha256_of_information(cases_with_information(study)))
    open_study(study, actor=None, at=NOON)
    return study


def _enrol(study: ReaderStudy, reader: User, *, is_ready: bool) -> Enrolment:
    done = NOON if is_ready else None
    enrolment = Enrolment.objects.create(
        study=study,
        reader=reader,
        case_set=study.sets.get(),
        pseudonym=f"R{study.enrolments.count() + 1}",
        enrolled_at=NOON,
        consented_at=done,
        instructed_at=done,
        display_checked_at=done,
    )
    order = PresentationOrder.objects.filter(study=study, enrolment__isnull=True).order_by("number")[0]
    PresentationOrder.objects.filter(pk=order.pk).update(enrolment=enrolment)
    return enrolment


def hear_others(others: list[Enrolment], truth: Truth) -> None:
    """The other readers have answered: in one world all cases, in the other some; otherwise in each."""
    for which, enrolment in enumerate(others):
        Enrolment.objects.filter(pk=enrolment.pk).update(
            practised_at=NOON, facts={"training": truth.token("facts", which)}
        )
        User.objects.filter(enrolments=enrolment).update(name=truth.token("other reader", which))
        places = places_of(enrolment, Block.MAIN)
        for place in places[: len(places) if truth.turn == 0 else 3]:
            number = place.case.number
            reading = Reading.objects.create(
                enrolment=enrolment,
                case=place.case,
                arm=place.order.arm,
                presented=place,
                position=place.position,
                opened_at=NOON,
                painted_at=NOON,
                closed_at=NOON,
            )
            Response.objects.create(
                reading=reading,
                is_confirmed=True,
                state=ResponseState.ANSWERED,
                option="ABCD"[(number + which + truth.turn) % 4],
                key=str(uuid.uuid4()),
                source=truth.token("source", number),
                stored_at=NOON,
            )
            Remark.objects.create(
                reading=reading, kind=RemarkKind.FAULT, text=truth.token("remark", number), key=str(number), at=NOON
            )
            TimingEvent.objects.create(
                reading=reading,
                page="other",
                sequence=1,
                kind="submitted",
                client_ms=1,
                received_at=NOON,
                details={"device": truth.token("device", number)},
            )


def predict(study: ReaderStudy, truth: Truth) -> None:
    """A model has answered all cases, otherwise in each world; in one of them some answers name no option."""
    entry = ModelEntry.objects.create(
        name=truth.token("model", 0), prompt=truth.token("prompt", 0), submitter=None, created_at=NOON
    )
    run = PredictionRun.objects.create(
        entry=entry,
        bank=study.bank,
        study=study,
        number=1,
        file_name=truth.token("file", 0),
        file_sha256=truth.token("file", 1),
        form=PredictionForm.RESULTS,
        is_named=True,
        named_before_unblinding=True,
        imported_at=NOON,
        **{f"n_{what}": truth.turn for what in ("read", "matched", "failed", "missing", "duplicate", "unknown")},
    )
    for case in study.cases.filter(block=Block.MAIN).order_by("number"):
        option = "ABCD"[(case.number * 5 + truth.turn) % 4] if truth.turn or case.number % 3 else ""
        Prediction.objects.create(
            run=run,
            revision_id=case.revision_id,
            state="answered" if option else "failed",
            option=option,
            raw=truth.token("raw", case.number),
            explanation=truth.token("model explanation", case.number),
            row=case.number,
        )


def look_at_results(study: ReaderStudy, truth: Truth) -> None:
    """Coordinators have an analysis, its report, a link to it, the job that made it, and a comparison of models."""
    coordinator = make_person("Cora", Role.COORDINATOR)
    words = truth.token("analysis", 0)
    analysis = Analysis.objects.create(
        study=study,
        inputs_sha256=words,
        seed=1,
        settings={},
        software={},
        result=json.dumps({"words": words}),
        result_sha256=truth.token("analysis", 1),
        created_at=NOON,
    )
    ReaderStudy.objects.filter(pk=study.pk).update(own_analysis=analysis)
    AnalysisReport.objects.create(
        analysis=analysis,
        sha256=truth.token("report", 0),
        n_bytes=1 + truth.turn,
        contents=[[truth.token("report", 1), 1, "", ""]],
        made_at=NOON,
    )
    ResultsLink.objects.create(
        analysis=analysis,
        token_sha256=truth.token("link", 0),
        note=truth.token("link", 1),
        created_by=coordinator,
        created_at=NOON,
        expires_at=NOON + timedelta(days=1),
    )
    job = Job.objects.create(
        kind="analysis",
        title=truth.token("job", 0),
        params={
            "entry": ModelEntry.objects.get().public_id,
            "model": truth.token("model", 0),
            "name": truth.token("file", 0),
            "study": study.slug,
            "bank": study.bank.slug,
        },
        result={"words": truth.token("job", 1)},
        created_at=NOON,
    )
    Upload.objects.create(created_by=coordinator, created_at=NOON, purpose="predictions", job=job)
    ModelComparison.objects.create(
        bank=study.bank,
        inputs_sha256="",
        result=json.dumps({"words": truth.token("comparison", 0)}),
        result_sha256=truth.token("comparison", 1),
        created_at=NOON,
    )


def review_beside(bank: QuestionBank, truth: Truth) -> None:
    """A round of others on the same questions, with what one of them said."""
    plan = SamplingPlan.objects.create(
        name=f"Sample of {bank.name}",
        slug="sample",
        bank=bank,
        rule="test",
        stratify_by="none",
        per_thousand=1000,
        seed=1,
        strata=[],
        n_frame=1,
        frame_sha256="",
        created_at=NOON,
    )
    round_ = ReviewRound.objects.create(name="Round", slug="round", plan=plan, state=RoundState.OPEN, created_at=NOON)
    reviewer = make_person("Remo", Role.REVIEWER)
    for position, revision in enumerate(Revision.objects.filter(bank=bank).order_by("question__number")[:2], start=1):
        SampledQuestion.objects.create(plan=plan, position=position, revision=revision, stratum="all")
        Assignment.objects.create(
            round=round_,
            reviewer=reviewer,
            revision=revision,
            position=position,
            state=AssignmentState.SKIPPED,
            skip_reason=truth.token("skip", position),
        )


def exam_of(world: World, number: int) -> Exam:
    return Exam.objects.get(questions__bank=world.study.bank, questions__number=number)

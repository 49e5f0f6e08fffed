"""A site in which every page has something to show: people of every role, a bank, images, rounds, jobs, links."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.tokens import default_token_generator
from django.db import transaction
from django.test import Client
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from msgspec.structs import replace

from annotation.audit.recording import record
from annotation.enums import AssignmentState, Flag, IdentifierKind, ImageState, Role, RoundState, Split, Turn
from annotation.ingest import storage
from annotation.models import (
    Assignment,
    Classifier,
    ClassScore,
    Gate,
    Image,
    Invitation,
    LabelledSet,
    Membership,
    Question,
    QuestionBank,
    Release,
    Rendition,
    ReviewRound,
    Revision,
    SampledQuestion,
    SamplingPlan,
    SendingPermission,
    Settlement,
    SourceIdentifier,
    User,
)
from annotation.outcomes.adjudicating import (
    begin_adjudication,
    decide,
    name_adjudicator,
    show_reviews,
    take_next,
)
from annotation.people.invitations import Grant, invite
from annotation.questionbank.editing import current_revision, revise, wording_of
from annotation.review.calibrating import begin_calibration, finish_calibration
from annotation.review.commenting import add_comment, finish_todo, withdraw_comment
from annotation.review.ending import complete_reviews, count_open
from annotation.review.kernels.form_design import ANCHOR_LIMIT, make_design
from annotation.review.round_design import store_form
from annotation.review.samples import draw_sample
from annotation.review.selected_questions import add_tag
from annotation.statistics.kernels.sampling import StratifyBy
from annotation.validators.classifying import set_threshold
from readerstudy.design.kernels.documents import Rules
from tests.annotation.case.sent import seen
from tests.annotation.generation.made import bank_with_reports, written_run
from tests.annotation.model_calls.simulated_calls import answer_with
from tests.annotation.review.cases import OPTIONS, make_bank, make_revision
from tests.annotation.review.pixels import give_pixels
from tests.annotation.rounds.made import say
from tests.annotation.validators.validated import begun, judged
from tests.browser.pages.endpoints import probe_endpoints
from tests.browser.pages.factors import equip
from tests.browser.pages.feedback import judge_prompts
from tests.browser.pages.leaderboards import hold_board, hold_leaderboards, send_to_board
from tests.browser.pages.model_runs import run_models
from tests.browser.pages.models import enter_models
from tests.browser.pages.place import Place, cast
from tests.browser.pages.readers import seat_readers
from tests.browser.pages.sending import permit, write_prompts
from tests.browser.pages.similar import compare
from tests.browser.pages.studies import hold_studies
from tests.browser.pages.uploads import start_jobs
from tests.readerstudy.studies import enrol, make_study

FINDING = {"box": [10, 10, 20, 8], "allowed": False, "length": 9, "score": 0.9}
N_QUESTIONS = 7


def furnish(words: str = "") -> Place:
    place = Place(words)
    cast(place)
    _fill_bank(place)
    _generate(place)
    compare(place)
    _hold_rounds(place)
    _dispute(place)
    _revise(place)
    _discuss(place)
    _calibrate(place)
    _furnish_rooms(place)
    start_jobs(place)
    _hand_out_links(place)
    equip(place)
    hold_studies(place)
    seat_readers(place)
    enter_models(place)
    hold_board(place)
    permit(place)
    write_prompts(place)
    run_models(place)
    probe_endpoints(place)
    judge_prompts(place)
    hold_leaderboards(place)
    send_to_board(place)
    return place


def _furnish_rooms(place: Place) -> None:
    """A study that Remo reads, with everything that its page can ask for, and one that Dina practises in."""
    rules = Rules(confidence=True, cannot_tell=True, break_every=50)
    for name, reader, n_practice in (("Room", "remo", 0), ("Lessons", "dina", 2)):
        bank = make_bank(f"{name}-cases")
        study = make_study(name, n_practice=n_practice, bank=bank, pixels=True, rules=rules, simulated=True)
        study.name = place.named(study.name)
        study.save()
        enrolment = enrol(study, place.people[reader])
        if n_practice:
            enrolment.practised_at = None
            enrolment.save()
        place.things[name.lower()] = study


def _fill_bank(place: Place) -> None:
    bank = make_bank("Chest")
    bank.name = place.named(bank.name)
    bank.save()
    empty = QuestionBank.objects.create(name=place.named("Empty"), slug="empty", created_at=timezone.now())
    for number in range(1, N_QUESTIONS + 1):
        revision = make_revision(
            bank,
            number,
            stem=place.said(f"Which finding is absent on these radiographs ({number})?"),
            options=[place.said(text) for text in OPTIONS],
            category=place.named("Pleura"),
        )
        for image in revision.question.exam.images.all():
            give_pixels(image, seed=number * 2 + image.position)
    bank.imports.update(result={"created": N_QUESTIONS})
    Image.objects.update(rows=96, columns=80, bits_stored=8, ingested_at=timezone.now())
    held, shown = Image.objects.order_by("pk")[:2]
    changes = {
        "state": ImageState.QUARANTINED,
        "state_reason": place.said("text was found"),
        "text_findings": [FINDING],
        "turn": Turn.MIRRORED,
    }
    Image.objects.filter(pk=held.pk).update(**changes)
    Image.objects.filter(pk=shown.pk).update(turn=Turn.MIRRORED, is_turned=False)
    stated = {"kind": IdentifierKind.STATED_VIEW, "value": "LIGGEND", "digest": 1}
    SourceIdentifier.objects.create(**stated, image_id=shown.pk, exam_id=shown.exam_id)
    gate = Gate.objects.create(
        bank=bank, number=1, name=place.named("Gate"), parts=["difficulty"], set_at=timezone.now()
    )
    counts = {split.value: {"questions": 1, "patients": 1} for split in Split}
    made = Release.objects.create(
        bank=bank, gate=gate, name=place.named("First"), shares={}, seed=1, counts=counts, released_at=timezone.now()
    )
    place.things |= {"bank": bank, "empty": empty, "held": held, "image": shown, "release": made}


def _generate(place: Place) -> None:
    """A bank with questions that the simulated model wrote from its three reports, some of which were not made."""
    with tempfile.TemporaryDirectory() as folder:
        bank = bank_with_reports(Path(folder), 3)
    run = written_run(bank, per_exam=6, server_seed=7)
    SendingPermission.objects.filter(bank=bank).update(expires_at=timezone.now() + timedelta(days=90))
    place.things |= {"generated bank": bank, "generation": run}
    judged(bank, "pass", "fail", "pass", "undecided", reason=place.said("The wording gives the key away."))
    judged(bank, "fail", "pass", "pass", validator="c3")
    answer_with(begun(bank, "c2").batch, "no JSON")
    judged(bank, "pass", "fail", "pass", validator="bias", reason=place.said("“Elderly” steers to option B."))
    classifier = Classifier.objects.create(
        folder="compliance", fingerprint="0123456789ab", labels=["PHI", "bias"], created_at=timezone.now()
    )
    found = [[n / 20, n % 7 / 7] for n in range(20)]
    place.things["labelled set"] = LabelledSet.objects.create(
        classifier=classifier,
        name=place.said("labelled.csv")[:100],
        sha256="0" * 64,
        classes=[["PHI"] if n > 11 or n == 7 else [] for n in range(20)],
        probabilities=found,
        created_by=place.people["cora"],
        created_at=timezone.now(),
    )
    for revision, scores in zip(Revision.objects.in_bank(bank).current(), found, strict=False):
        ClassScore.objects.create(classifier=classifier, revision=revision, probabilities=scores)
    set_threshold(
        place.things["labelled set"],
        label="PHI",
        part="identifiers",
        threshold=0.6,
        bank=bank,
        actor=None,
        at=timezone.now(),
    )


def _plan(place: Place, bank: QuestionBank) -> SamplingPlan:
    return draw_sample(
        bank,
        name=place.named("Sample"),
        by=StratifyBy.TASK,
        per_thousand=1000,
        actor=place.people["cora"],
        at=timezone.now(),
    )


def _round(place: Place, name: str, state: RoundState) -> ReviewRound:
    return ReviewRound.objects.create(
        name=place.named(name),
        slug=name.lower(),
        plan=place.things["sample"],
        state=state,
        created_by=place.people["cora"],
        instructions=place.said("Judge what the question tests."),
        created_at=timezone.now(),
        opened_at=None if state == RoundState.DRAFT else timezone.now(),
        closed_at=timezone.now() if state == RoundState.CLOSED else None,
    )


def _assign(place: Place, review_round: ReviewRound, *names: str) -> None:
    rows = SampledQuestion.objects.filter(plan=place.things["sample"]).order_by("position")
    if review_round.state == RoundState.CLOSED:
        rows = rows[: N_QUESTIONS // 2]  # whoever has reviewed a question cannot answer it blind in another round
    for row in rows:
        for name in names:
            Assignment.objects.create(
                round=review_round, reviewer=place.people[name], revision=row.revision, position=row.position
            )


def _hold_rounds(place: Place) -> None:
    """A draft, an open round with every state of a question, and a closed one with outcomes."""
    place.things["sample"] = _plan(place, place.things["bank"])
    for name, state in (("Draft", RoundState.DRAFT), ("Open", RoundState.OPEN), ("Closed", RoundState.CLOSED)):
        made = place.things[name.lower()] = _round(place, name, state)
        if state == RoundState.OPEN:
            ReviewRound.objects.filter(pk=made.pk).update(due_at=timezone.now() + timedelta(hours=9))
        _assign(place, made, "rita", "remo")
        Membership.objects.create(
            user=place.people["stan"], role=Role.COORDINATOR, round=made, granted_at=timezone.now()
        )
    for name in ("rita", "remo"):
        for assignment in _assignments(place, "closed", name):
            flags = [Flag.HALLUCINATED] if assignment.position % 2 else []
            say(
                assignment, flags=flags, verdict="revise" if flags else "accept", comment=place.said("restates the key")
            )
    ReviewRound.objects.filter(pk=place.things["open"].pk).update(
        least_width=1000, least_height=600, display_check=True
    )
    checked = {"lets_in": True, "passed": False, "n_failed": 3, "display": "laptop", "luminance": 80, "read_dark": 2}
    for name in ("rita", "remo"):
        with transaction.atomic():
            round_, person = place.things["open"], place.people[name]
            record("round.display_not_passed", actor=person, at=timezone.now(), subject=round_, facts=checked)
    ReviewRound.objects.filter(pk=place.things["closed"].pk).update(shows_decisions=True)
    mine = _assignments(place, "open", "rita")
    say(mine[0], comment=place.said("fine"))
    Assignment.objects.filter(pk=mine[1].pk).update(
        state=AssignmentState.SKIPPED, skip_reason=place.said("image missing")[:290], skipped_at=timezone.now()
    )
    Image.objects.filter(exam__questions__revisions=mine[2].revision_id).update(state=ImageState.PENDING)
    place.things |= {
        "submitted": mine[0],
        "skipped": mine[1],
        "imageless": mine[2],
        "blind": mine[3],
        "judged": mine[4],
        "broken": mine[5],
    }
    place.things["read_only"] = _assignments(place, "closed", "rita")[0]
    answer(place, mine[4])
    lost = Rendition.objects.filter(image__exam__questions__revisions=mine[5].revision_id, image__position=0)
    storage.remove([rendition.name for rendition in lost])


def _dispute(place: Place) -> None:
    """A round in adjudication: two questions are agreed on, one waits, one is taken and judged, one is decided."""
    made = place.things["disputed"] = _round(place, "Disputed", RoundState.OPEN)
    ReviewRound.objects.filter(pk=made.pk).update(reviewers_per_question=2)
    _assign(place, made, "nora", "nils")  # whoever knows a key of the open round could not answer it blind
    cora, judy, now = place.people["cora"], place.people["judy"], timezone.now()
    for one in _assignments(place, "disputed", "nora")[:5]:
        say(one, comment=place.said("fine"))
    for number, one in enumerate(_assignments(place, "disputed", "nils")[:5]):
        doubt: dict[str, Any] = (
            {"best": "C", "verdict": "revise", "flags": [Flag.UNSOUND, Flag.NEEDS_PRIOR]} if number > 1 else {}
        )
        say(one, comment=place.said("two options fit"), reasoning=place.said("the sign is equivocal"), **doubt)
    complete_reviews(made, actor=cora, at=now, confirmed_open=count_open(made))
    name_adjudicator(made, judy, actor=cora, at=now)
    begin_adjudication(made, actor=cora, at=now)
    for is_decided in (True, False):
        taken = take_next(made, judy, at=now)
        assert taken is not None
        say(taken, comment=place.said("both are acceptable"))
        settlement = place.things["settlement"] = Settlement.objects.get(assignment=taken)
        if is_decided:
            show_reviews(settlement, actor=judy, at=now)
            decide(settlement, "reject", place.said("It cannot be answered on these images."), actor=judy, at=now)


def _calibrate(place: Place) -> None:
    """A round with a form of its own and hidden repeats, whose calibration Nora has not passed and Nils not begun."""
    cora, now = place.people["cora"], timezone.now()
    anchors = {("clinical_quality", "5"): place.said("exam standard")[:ANCHOR_LIMIT]}
    own = make_design(grades=["clinical_quality"], choices=["relevant"], flags=[], anchors=anchors)
    form = place.things["form"] = store_form(place.said("Chest")[:80], own, actor=cora, at=now)
    made = place.things["calibrated"] = _round(place, "Calibrated", RoundState.OPEN)
    ReviewRound.objects.filter(pk=made.pk).update(
        form=form, shared_answers=place.things["closed"], pass_mark=70, percent_repeated=5
    )
    made.refresh_from_db()
    _assign(place, made, "nora", "nils")
    cases = begin_calibration(made, place.people["nora"], at=now)
    for one in Assignment.objects.filter(round=cases).order_by("position"):
        say(one, best="D", verdict="revise", reasoning=place.said("I read a nipple as a nodule."))
    finish_calibration(cases, place.people["nora"], at=now)


def _revise(place: Place) -> None:
    """Question 2 has been written anew, without its lateral image, by a coordinator who does not look otherwise."""
    question = Question.objects.get(bank=place.things["bank"], number=2)
    lateral = question.exam.images.get(position=1)
    wording = replace(
        wording_of(current_revision(question)),
        stem=place.said("Which finding is not there?"),
        options=(place.said("All of the above"), *OPTIONS[1:]),
        key="A",
        left_out=frozenset({lateral.public_id}),
    )
    reason = place.said("Two options were right.")
    revise(question, wording, reason, based_on=1, actor=place.people["omni"], at=timezone.now())


def _discuss(place: Place) -> None:
    """Question 2 has tags and comments of every kind; Stan reviewed it in a round that is closed."""
    people, at = place.people, timezone.now()
    question = Question.objects.select_related("bank").get(bank=place.things["bank"], number=2)
    made = _round(place, "Discussed", RoundState.CLOSED)
    first = question.revisions.get(number=1)
    one = Assignment.objects.create(round=made, reviewer=people["stan"], revision=first, position=1)
    say(one, verdict="revise", comment=place.said("two options are right"))
    place.things["discussed"] = one
    for tag in ("needs a prior", place.said("for the course")[:40].strip()):
        add_tag(Question.objects.filter(pk=question.pk), tag, bank=question.bank, actor=people["cora"], at=at)
    both = [people["stan"].pk, people["omni"].pk]
    texts = [
        "Is option A meant to be right as well?",
        "The new wording still has two right options.",
        "Wrong question.",
    ]
    asked, mended, wrong = (
        add_comment(question, place.said(text), mentioned=both, is_todo=n < 2, actor=people["cora"], at=at)
        for n, text in enumerate(texts)
    )
    finish_todo(asked, actor=people["omni"], at=at)
    withdraw_comment(wrong, actor=people["cora"], at=at)
    add_comment(question, place.said("I meant the one of before."), actor=people["stan"], at=at)
    assert mended.is_open


def _assignments(place: Place, name: str, reviewer: str) -> list[Assignment]:
    found = Assignment.objects.filter(round=place.things[name], reviewer=place.people[reviewer])
    return list(found.select_related("revision__question__exam").order_by("position"))


def answer(place: Place, assignment: Assignment) -> None:
    """Step 1 through the page itself, so that step 2 is what a person would see."""
    client = Client()
    client.force_login(place.people["rita"])
    address = f"/review/{assignment.public_id}/"
    client.get(address)
    there = assignment.revision.question.exam.images.filter(state=ImageState.AVAILABLE)
    views = list(there.values_list("public_id", flat=True))
    given = {"best": "A", "defensible": "D", "difficulty": "hard", **seen(views)}
    assert client.post(f"{address}answer/", given).status_code == 302


def _hand_out_links(place: Place) -> None:
    ada, now = place.people["ada"], timezone.now()
    fresh = invite(Grant(Role.REVIEWER), email="nina@example.org", name=place.named("Nina"), actor=ada, at=now)
    known = invite(Grant(Role.REVIEWER, place.things["open"]), email="", name="", actor=ada, at=now)
    old = invite(Grant(Role.REVIEWER), email="late@example.org", name="Late", actor=ada, at=now)
    Invitation.objects.filter(pk=old.invitation.pk).update(expires_at=now - timedelta(days=1))
    lena = User.objects.create_user("lena@example.org", "forgotten-1234", name=place.named("Lena"))  # never logs in
    place.things |= {"link": fresh.token, "round link": known.token, "old link": old.token}
    place.things["uid"] = urlsafe_base64_encode(force_bytes(lena.pk))
    place.things["reset token"] = default_token_generator.make_token(lena)

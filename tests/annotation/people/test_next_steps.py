"""The next step of rounds, banks and images, in each of their states, at home and on their own pages."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.test import Client

from annotation.enums import AssignmentState, ImageState, JobState, QuestionState, RoundState
from annotation.ingest.completeness import ImageCounts
from annotation.models import Exam, Image, Job, Question, QuestionBank, ReviewRound, Upload, User
from annotation.outcomes.next_steps import BankCounts, RoundCounts, next_of_bank, next_of_images, next_of_round
from annotation.people.open_work import NextStep, first_due
from tests.annotation.people.conftest import make_round
from tests.pages import markup

IN = RoundCounts(n_submitted=4)
HALF = RoundCounts(n_submitted=1, n_to_do=3)
CLOSE = "Everything is settled: close the round"
ROUND_STEPS: list[tuple[RoundState, RoundCounts, str, str]] = [
    (RoundState.DRAFT, RoundCounts(), "Nobody reviews its questions yet: choose reviewers", "due"),
    (RoundState.DRAFT, RoundCounts(n_to_do=4), "Everything is ready: open the round", "act"),
    (RoundState.DRAFT, RoundCounts(n_to_do=4, missing="1 of 4 lacks."), "1 of 4 lacks.", "due"),
    (
        RoundState.DRAFT,
        RoundCounts(n_to_do=4, missing="4 of 4 lack.", unseen=ImageCounts(n_quarantined=4)),
        "No image can be seen yet. 4 images are in quarantine. Somebody with the de-identification role decides.",
        "waits",
    ),
    (RoundState.OPEN, RoundCounts(), "Nobody reviews its questions yet: choose reviewers", "due"),
    (RoundState.OPEN, HALF, "Under review: 1 of 4 reviews are in", "waits"),
    (RoundState.OPEN, RoundCounts(n_submitted=1, n_to_do=3, n_returned=2), "2 questions were handed back", "due"),
    (RoundState.OPEN, RoundCounts(n_returned=1), "1 question was handed back", "due"),
    (RoundState.OPEN, RoundCounts(n_to_do=1, uncalibrated=("Rita",)), "Calibration not passed: Rita", "due"),
    (RoundState.OPEN, IN, "All reviews are in: end the independent reviews", "act"),
    (RoundState.COMPLETE, IN, "", ""),  # who judges in it does not know what is disputed
    (RoundState.COMPLETE, RoundCounts(n_submitted=4, n_disputed=0), CLOSE, "act"),
    (
        RoundState.COMPLETE,
        RoundCounts(n_submitted=4, n_disputed=2),
        "2 questions are disputed: name an adjudicator",
        "due",
    ),
    (RoundState.COMPLETE, RoundCounts(n_submitted=4, n_disputed=2, n_adjudicators=1), "Adjudication can begin", "act"),
    (RoundState.ADJUDICATION, RoundCounts(n_submitted=4, n_disputed=1), "1 question waits for an adjudicator", "waits"),
    (
        RoundState.ADJUDICATION,
        RoundCounts(n_submitted=4, n_disputed=0),
        "Everything is settled: close the round",
        "act",
    ),
    (RoundState.CLOSED, RoundCounts(n_submitted=4, n_disputed=2), "", ""),
]
LEFT = "Somebody with the de-identification role decides."
IMAGE_STEPS: list[tuple[ImageCounts, bool, str, str]] = [
    (ImageCounts(), False, "", ""),
    (ImageCounts(n_available=3), False, "", ""),
    (ImageCounts(n_pending=3), False, "All 3 images that the questions name are missing.", "due"),
    (ImageCounts(n_pending=1), True, "The 1 image that the questions name is missing.", "due"),
    (
        ImageCounts(n_pending=2, n_available=1, upload="x"),
        False,
        "2 of 3 images are still to come: an upload is being read.",
        "waits",
    ),
    (ImageCounts(n_pending=1, n_available=2), False, "1 of 3 images are still missing.", "waits"),
    (ImageCounts(n_quarantined=51), False, f"No image can be seen yet. 51 images are in quarantine. {LEFT}", "waits"),
    (ImageCounts(n_quarantined=1, n_available=1), False, f"1 image is in quarantine. {LEFT}", "waits"),
    (ImageCounts(n_quarantined=51), True, "51 images are in quarantine.", "due"),
    (ImageCounts(n_checking=2, n_available=1), False, "2 images are being searched for text.", "waits"),
    (
        ImageCounts(n_checking=2, n_pending=1),
        False,
        "No image can be seen yet. 2 images are being searched for text.",
        "waits",
    ),
]
IMPORTED = "Questions imported. Next: draw a sample of them for a review round."
BANK_STEPS: list[tuple[BankCounts, str, str]] = [
    (BankCounts(has_questions=False), "The bank has no question yet.", "due"),
    (BankCounts(), IMPORTED, "waits"),
    (BankCounts(images=ImageCounts(n_available=3)), IMPORTED, "waits"),
    (
        BankCounts(images=ImageCounts(n_available=1, n_pending=2)),
        f"{IMPORTED} 2 of 3 images are still missing.",
        "waits",
    ),
    (
        BankCounts(images=ImageCounts(n_quarantined=51)),
        f"No image can be seen yet. 51 images are in quarantine. {LEFT}",
        "waits",
    ),
    (BankCounts(images=ImageCounts(n_pending=2)), "All 2 images that the questions name are missing.", "due"),
    (BankCounts(unused_sample="spring"), "The sample is drawn: make a review round of it.", "due"),
    (BankCounts(is_used=True), "", ""),
    (BankCounts(is_used=True, n_needs_revision=2, n_disputed=1), "2 questions need revision.", "due"),
    (
        BankCounts(is_used=True, n_disputed=1),
        "1 question stayed disputed: revise or withdraw it, or review it again.",
        "due",
    ),
    (
        BankCounts(is_used=True, n_revised=1),
        "1 question was revised and not reviewed since: review it again, or export the bank.",
        "waits",
    ),
]


def kind_of(step: NextStep | None) -> str:
    if step is None:
        return ""
    return "act" if step.is_act else "due" if step.is_due else "waits"


def told(step: NextStep | None) -> tuple[str, str]:
    return (step.sentence if step else "", kind_of(step))


@pytest.mark.parametrize(("state", "counts", "sentence", "kind"), ROUND_STEPS)
def test_each_state_of_a_round(state: RoundState, counts: RoundCounts, sentence: str, kind: str) -> None:
    one = ReviewRound(name="Spring", slug="spring", state=state)
    assert told(next_of_round(one, counts)) == (sentence, kind)
    one.archived_at = datetime(2026, 1, 1)  # noqa: DTZ001 - only whether there is one
    assert next_of_round(one, counts) is None


def test_no_state_of_a_round_is_left_out() -> None:
    assert {state for state, *_rest in ROUND_STEPS} == set(RoundState)


@pytest.mark.parametrize(("counts", "decides", "sentence", "kind"), IMAGE_STEPS)
def test_each_state_of_images(counts: ImageCounts, decides: bool, sentence: str, kind: str) -> None:
    assert told(next_of_images(counts, decides=decides)) == (sentence, kind)


@pytest.mark.parametrize(("counts", "sentence", "kind"), BANK_STEPS)
def test_each_state_of_a_bank(counts: BankCounts, sentence: str, kind: str) -> None:
    bank = QuestionBank(name="Chest", slug="chest")
    assert told(next_of_bank(bank, counts)) == (sentence, kind)
    bank.archived_at = datetime(2026, 1, 1)  # noqa: DTZ001 - only whether there is one
    assert next_of_bank(bank, counts) is None


def test_without_a_bank_one_is_imported() -> None:
    assert told(next_of_bank(None, BankCounts())) == (
        "There is no question yet. Import a question bank first.",
        "due",
    )


def test_what_is_up_to_a_person_goes_before_what_waits_for_others() -> None:
    waits, due = NextStep("a", "a", "/a/", is_due=False), NextStep("b", "b", "/b/")
    assert first_due([None, waits, due]) == due
    assert first_due([waits, None]) == waits
    assert first_due([None]) is None


# --- the same sentence at home and on the page of the thing ---------------------------------------
def shows_everywhere(client: Client, person: User, sentence: str, *pages: str) -> None:
    client.force_login(person)
    for page in ("/", *pages):
        [panel] = markup(client.get(page)).split('<section class="panel next"')[1:]
        assert sentence in panel.split("</section>")[0], page


def add_question(bank: QuestionBank, *states: ImageState) -> Question:
    number = bank.questions.count() + 1
    exam = Exam.objects.create(bank=bank, pseudonym=f"E{number}")
    for state in states:
        Image.objects.create(exam=exam, state=state)
    return Question.objects.create(bank=bank, number=number, exam=exam)


def test_questions_to_revise_are_an_open_task(client: Client, cora: User, bank: QuestionBank, noon: datetime) -> None:
    make_round(bank, "Spring", RoundState.CLOSED, noon)
    for _n in range(2):
        add_question(bank)
    Question.objects.update(state=QuestionState.NEEDS_REVISION)
    shows_everywhere(client, cora, "2 questions need revision.", "/banks/chest/", "/rounds/spring/")


def test_images_that_wait_for_somebody_else_come_before_a_sample(
    client: Client, cora: User, bank: QuestionBank
) -> None:
    add_question(bank, ImageState.QUARANTINED, ImageState.QUARANTINED)
    sentence = f"No image can be seen yet. 2 images are in quarantine. {LEFT}"
    shows_everywhere(client, cora, sentence, "/banks/chest/", "/images/", "/images/?bank=chest")


def test_a_round_in_which_all_reviews_are_in(
    client: Client, cora: User, rita: User, open_round: ReviewRound, assign: object
) -> None:
    assign(open_round, rita, AssignmentState.SUBMITTED)  # type: ignore[operator]
    shows_everywhere(client, cora, "All reviews are in: end the independent reviews", "/rounds/spring/")


def test_a_round_without_reviewers(client: Client, cora: User, bank: QuestionBank, noon: datetime) -> None:
    make_round(bank, "Spring", RoundState.DRAFT, noon)
    shows_everywhere(client, cora, "Nobody reviews its questions yet: choose reviewers", "/rounds/spring/")


def test_images_whose_upload_is_being_read_are_not_missing(
    client: Client, cora: User, bank: QuestionBank, noon: datetime
) -> None:
    add_question(bank, ImageState.PENDING)
    job = Job.objects.create(kind="upload", state=JobState.QUEUED, created_at=noon)
    sent = {"created_by": cora, "created_at": noon, "bank": bank, "job": job}
    Upload.objects.create(purpose="questions", **sent)
    shows_everywhere(client, cora, "The 1 image that the questions name is missing.", "/banks/chest/")
    Upload.objects.create(purpose="images", **sent)
    sentence = "1 of 1 images are still to come: an upload is being read."
    shows_everywhere(client, cora, sentence, "/banks/chest/", "/images/?bank=chest")
    Job.objects.update(state=JobState.FAILED)
    shows_everywhere(client, cora, "The 1 image that the questions name is missing.", "/banks/chest/")

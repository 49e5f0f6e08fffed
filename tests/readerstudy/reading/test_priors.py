"""A prior exam in a reader study: frozen, hashed, prefetched and looked at like the images of the exam itself."""

from __future__ import annotations

from itertools import pairwise

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.contributions import conflicts
from annotation.enums import ImageState
from annotation.ingest.quarantine import quarantine_image
from annotation.ingest.serving import may_see
from annotation.models import Assignment, Exam, Image, User
from readerstudy.analysis.comparing_models import gather_runs, gather_study_runs
from readerstudy.analysis.main_block import Cases, cases_of
from readerstudy.design.checking import hindrances_of, problems_of
from readerstudy.design.conflicts import may_not_read
from readerstudy.design.creating import create_study
from readerstudy.design.freezing import freeze_study
from readerstudy.design.kernels.documents import Rules
from readerstudy.design.questions import candidates_of, mates_of_patient
from readerstudy.design.shown import hash_of, is_as_hashed, shown_as_frozen
from readerstudy.models import ReaderStudy, ShownImage, StudyCase, StudyRole
from readerstudy.results.cases import cases_shown
from readerstudy.results.kernels.agreement_tables import Disagreement
from readerstudy.study.permissions import StudyRefused
from tests.annotation.review.cases import NOON, make_bank, make_revision, make_round
from tests.annotation.review.pixels import give_pixels
from tests.annotation.review.priors import give_prior
from tests.conftest import make_person
from tests.readerstudy.design.made import make_questions, plan_for
from tests.readerstudy.reading.page import Json, ReadingPage
from tests.readerstudy.studies import enrol, make_study

pytestmark = pytest.mark.django_db


def exam_of(number: int) -> Exam:
    return Exam.objects.get(questions__number=number)


@pytest.fixture
def study(db: None) -> ReaderStudy:
    """Three cases with two images each; the first has a prior, with two more."""
    return make_study(n_cases=3, pixels=True, give_images=lambda: give_prior(exam_of(1)))


@pytest.fixture
def page(study: ReaderStudy, rita: User) -> ReadingPage:
    enrol(study, rita)
    page = ReadingPage(rita, study.slug)
    page.begin(take="yes")
    return page


def ids(exam: Exam) -> list[str]:
    return list(exam.images.order_by("position").values_list("public_id", flat=True))


def prior_of(number: int) -> Exam:
    prior = exam_of(number).prior
    assert prior is not None
    return prior


def commit(page: ReadingPage, case: Json, *seen: str) -> int:
    assert page.open(case["id"]).status_code == 200
    painted = page.event("painted", 0.0, views=list(seen))
    status: int = page.commit(case["id"], "A", painted, page.event("submitted", 1_500)).status_code
    return status


def test_the_prior_comes_after_the_own_images_and_says_so(page: ReadingPage) -> None:
    first, second, *_rest = page.state()["cases"]
    assert [view["id"] for view in first["views"]] == [*ids(exam_of(1)), *ids(prior_of(1))]
    assert [view.get("prior") for view in first["views"]] == [None, None, True, True]
    assert all("prior" not in view for view in second["views"])
    for view in first["views"]:
        assert page.client.get(view["full"]).status_code == 200


def test_a_prior_is_fetched_ahead_with_its_case_and_by_nobody_else(study: ReaderStudy, rita: User, remo: User) -> None:
    image = Image.objects.filter(exam=prior_of(1))[0]
    enrol(study, rita)
    assert may_see(rita, image, at=NOON)
    assert not may_see(remo, image, at=NOON)
    coordinator = make_person("Cleo")
    StudyRole.objects.create(study=study, user=coordinator, granted_at=NOON)
    ShownImage.objects.filter(case__study=study).delete()  # a draft has none: the exam of the case leads there
    assert may_see(coordinator, image, at=NOON)


def test_a_state_with_a_prior_takes_no_query_more(page: ReadingPage, remo: User) -> None:
    plain = make_study("Plain", n_cases=3, pixels=True)
    enrol(plain, remo)
    other = ReadingPage(remo, plain.slug)
    other.begin(take="yes")
    counts = []
    for one in (page, other):
        with CaptureQueriesContext(connection) as queries:
            one.state()
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_every_image_of_the_prior_is_seen_before_the_answer(page: ReadingPage) -> None:
    [case, *_rest] = page.state()["cases"]
    own, before = ids(exam_of(1)), ids(prior_of(1))
    assert commit(page, case, *own, before[0]) == 409
    assert commit(page, case, *own, *before) == 200


def test_what_is_done_to_the_prior_waits_for_the_next_study(page: ReadingPage) -> None:
    before = page.state()
    prior = prior_of(1)
    give_pixels(Image.objects.create(exam=prior, position=9, view_position="PA"), seed=78)
    assert page.state() == before
    give_prior(exam_of(1), seed=120)
    assert page.state() == before
    Exam.objects.update(prior=None)
    assert page.state() == before
    assert page.client.get(before["cases"][0]["views"][3]["full"]).status_code == 200
    assert page.read(before["cases"][0]).status_code == 200


def test_an_image_of_the_prior_in_quarantine_leaves_a_placeholder(page: ReadingPage, dina: User) -> None:
    image = prior_of(1).images.order_by("position")[0]
    quarantine_image(image, reason="a name", actor=dina, at=NOON)
    now = page.state()["cases"][0]
    assert [view.get("prior") for view in now["views"]] == [None, None, True]
    assert now["withheld"] == [{"id": image.public_id, "view": "Prior: AP", "why": "withheld (possible patient data)"}]
    assert page.read(now).status_code == 200


def test_the_hash_of_a_case_covers_its_prior(study: ReaderStudy) -> None:
    cases = list(StudyCase.objects.filter(study=study).select_related("revision").order_by("number"))
    shown = shown_as_frozen(cases)
    assert all(is_as_hashed(case, shown[case.pk]) for case in cases)
    first = shown[cases[0].pk]
    of_prior = first.images[2]
    for changed in ({"pixels_sha256": "0" * 64}, {"view_position": "PA"}):
        kept = of_prior.frozen
        of_prior.frozen = {**kept, **changed}
        assert hash_of(cases[0], first) != cases[0].shown_sha256
        of_prior.frozen = kept
    del of_prior.frozen["prior"]  # an own image in place of one of the prior
    assert hash_of(cases[0], first) != cases[0].shown_sha256
    assert all("prior" not in one.frozen for case in cases[1:] for one in shown[case.pk].images)


def test_a_study_is_not_frozen_while_an_image_of_a_prior_is_missing_or_lost() -> None:
    bank = make_questions(3)
    prior = give_prior(exam_of(2), with_pixels=False)
    study = create_study(plan_for(bank, 3), actor=None, at=NOON)
    assert any("1 of 3 cases lacks an image" in sentence and "): 2." in sentence for sentence in problems_of(study))
    for image in prior.images.all():
        give_pixels(image, seed=60 + image.position)
    assert problems_of(study) == []
    prior.images.filter(position=0).update(state=ImageState.REMOVED, state_reason="a name")
    with pytest.raises(StudyRefused, match=r"2 \(prior, AP removed: a name\)"):
        freeze_study(study, actor=None, at=NOON)


def test_a_frozen_study_does_not_open_while_a_prior_is_withheld_and_needs_own_images(dina: User) -> None:
    bank = make_questions(3)
    prior = give_prior(exam_of(2))
    study = freeze_study(create_study(plan_for(bank, 3), actor=None, at=NOON), actor=None, at=NOON)
    assert hindrances_of(study) == []
    quarantine_image(prior.images.all()[0], reason="a name", actor=dina, at=NOON)
    assert any("1 of 3 cases lacks an image" in sentence and "): 2." in sentence for sentence in hindrances_of(study))
    prior.images.update(state=ImageState.AVAILABLE)
    ShownImage.objects.filter(case__study=study, image__exam=exam_of(2)).delete()
    assert any("1 of 3 cases lacks an image" in sentence and "): 2." in sentence for sentence in hindrances_of(study))


def test_the_dry_run_shows_it(cora: User, client: Client) -> None:
    bank = make_questions(3)
    give_prior(exam_of(1))
    study = create_study(plan_for(bank, 3), actor=cora, at=NOON)
    client.force_login(cora)
    address = reverse("study-dry-session", args=[study.slug])
    state = client.post(address, {"session": "", "device": "{}"}).json()["state"]
    told = {len(case["views"]): [view.get("prior") for view in case["views"]] for case in state["cases"]}
    assert told == {4: [None, None, True, True], 2: [None, None]}


def in_results(study: ReaderStudy, number: int) -> list[Json]:
    """The images that a coordinator gets of a case on which two models disagree."""
    case = StudyCase.objects.get(study=study, number=number)
    said = Disagreement(number - 1, number, case.public_id, "A", "B", "A")
    [shown] = cases_shown(study, ("One", "Two"), {}, [said])
    return shown.images


def test_results_show_what_was_frozen(study: ReaderStudy) -> None:
    before = in_results(study, 1)
    assert [one["id"] for one in before] == [*ids(exam_of(1)), *ids(prior_of(1))]
    assert [one.get("prior") for one in before] == [None, None, True, True]
    for number in (1, 2):
        give_prior(exam_of(number), seed=100 + 10 * number)
        give_pixels(Image.objects.create(exam=exam_of(number), position=9, view_position="PA"), seed=70 + number)
    assert in_results(study, 1) == before
    assert [one["id"] for one in in_results(study, 2)] == ids(exam_of(2))[:2]
    Image.objects.filter(public_id=before[2]["id"]).update(state=ImageState.REMOVED)
    assert [(one.get("prior"), "why" in one) for one in in_results(study, 1)] == [
        *[(None, False)] * 2,
        *[(True, True), (True, False)],
    ]


def link(later: int, earlier: int) -> None:
    """The exam of one question is the prior of that of another."""
    Exam.objects.filter(questions__number=later).update(prior=exam_of(earlier))


LINKS = (
    pytest.param(((1, 50),), id="it is about the prior of a case"),
    pytest.param(((50, 1),), id="it shows the exam of a case as prior"),
    pytest.param(((1, 51), (50, 51)), id="it shows the same prior as a case"),
)


@pytest.mark.parametrize("links", LINKS)
def test_who_reviews_a_question_that_shows_an_exam_of_the_study_does_not_read_it(
    links: tuple[tuple[int, int], ...], rita: User, remo: User
) -> None:
    bank = make_bank()
    study = make_study(n_cases=2, bank=bank)
    other = make_revision(bank, 50)
    make_revision(bank, 51)
    review_round = make_round(name="Beside", bank=bank, n_questions=0)
    Assignment.objects.create(round=review_round, reviewer=rita, revision=other, position=1)
    enrol(study, remo)
    assert may_not_read(rita, study) == []
    assert conflicts([remo.pk], [other.question_id]) == []
    for later, earlier in links:
        link(later, earlier)
    assert may_not_read(rita, study) == ["Rita reviews, or has reviewed, another question on images of this study: 1."]
    [conflict] = conflicts([remo.pk], [other.question_id])
    assert conflict.reason == "Remo reads another question on these images in the study “Trial”."


def chosen(*links: tuple[int, int], practice: tuple[int, ...] = (), several: bool = False) -> ReaderStudy:
    """A draft of the first three of five questions, of patients who are not known."""
    bank = make_questions(5)
    for later, earlier in links:
        link(later, earlier)
    rules = Rules(several_per_patient=several)
    return create_study(plan_for(bank, 3, practice=practice, rules=rules), actor=None, at=NOON)


def test_exams_that_a_prior_links_are_of_one_patient() -> None:
    """Two that share a prior, two that follow each other over one that is no case, and one alone."""
    study = chosen((1, 4), (2, 4))
    assert problems_of(study) == [
        "Several questions of one patient: 1 and 2. Leave some out, or allow it in the rules."
    ]
    link(4, 3)
    assert mates_of_patient(study.bank, list(study.cases.values_list("revision", flat=True)))
    assert {one.patient == two.patient for one, two in pairwise(candidates_of(study.bank)[:4])} == {True}
    Exam.objects.update(prior=None)
    assert problems_of(study) == []
    assert len({one.patient for one in candidates_of(study.bank)}) == 5


def test_the_prior_of_a_main_case_is_no_practice_case() -> None:
    assert problems_of(chosen((1, 5), practice=(5,))) == [
        "Patients of the practice block come again in the main block: questions 1 and 5.",
        "Images of one case are shown as prior with another: 1 shows those of practice 1. Leave one of the two out.",
    ]


def test_no_case_shows_another_as_its_prior_even_where_a_patient_may_have_several() -> None:
    assert problems_of(chosen((1, 4), (2, 4), several=True)) == []
    Exam.objects.update(prior=None)
    study = ReaderStudy.objects.get()
    link(2, 3)
    with pytest.raises(StudyRefused, match=r"with another: 2 shows those of 3\. Leave one of the two out\."):
        freeze_study(study, actor=None, at=NOON)


def test_analyses_take_exams_that_a_frozen_prior_links_as_one_patient() -> None:
    study = make_study(n_cases=3, pixels=True, give_images=lambda: link(3, 1))
    cases = cases_of(study)
    assert cases.questions.cluster.tolist() == [0, 1, 0]
    assert cases.cluster_level == "patient where known, else exam"
    link(2, 1)  # after freezing
    assert cases_of(study).questions.cluster.tolist() == [0, 1, 0]
    assert gather_study_runs(study, []).cluster.tolist() == [0, 1, 0]
    assert gather_runs(study.bank, []).cluster.tolist() == [0, 0, 0]


@pytest.mark.parametrize("patients", [("", "", ""), ("p", "", "p"), ("p", "q", "q")])
def test_without_priors_the_clusters_are_what_they_were(patients: tuple[str, ...]) -> None:
    study = make_study(n_cases=3)
    rows = list(Exam.objects.order_by("questions__number"))
    for exam, patient in zip(rows, patients, strict=True):
        Exam.objects.filter(pk=exam.pk).update(patient_pseudonym=patient)
    names = [patient or f"exam {exam.pseudonym}" for exam, patient in zip(rows, patients, strict=True)]
    expected = [list(dict.fromkeys(names)).index(name) for name in names]
    levels = {0: "exam", 3: "patient"}
    for arrays in (cases_of(study), gather_study_runs(study, []), gather_runs(study.bank, [])):
        cluster = arrays.questions.cluster if isinstance(arrays, Cases) else arrays.cluster
        assert cluster.tolist() == expected
        assert arrays.cluster_level == levels.get(sum(map(bool, patients)), "patient where known, else exam")

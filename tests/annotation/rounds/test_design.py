"""Forms of one's own, hidden repeats, calibration, competences, copies and costs: what a coordinator designs."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.enums import AssignmentState, Flag, GradeName, ReturnReason, RoundState
from annotation.models import Assignment, CalibrationResult, Review, ReviewForm, ReviewRound, User
from annotation.outcomes.agreement import own_agreement, round_agreement
from annotation.people.accounts import set_competences
from annotation.review.answering import answer_blind
from annotation.review.assignments import own_assignment
from annotation.review.calibrating import begin_calibration, calibration_of, distances_of, let_in
from annotation.review.ending import close_round, complete_reviews, count_open
from annotation.review.kernels.allotment import repeats_in
from annotation.review.kernels.form_design import PAPER, FormDesign, make_design, stored_design
from annotation.review.kernels.settling import Opinion, compare, has_passed, shared_opinion
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.outcomes import round_outcomes
from annotation.review.reassigning import add_reviewer, remove_reviewer
from annotation.review.round_design import RoundDesign, cost_of, store_form
from annotation.review.rounds import create_round
from annotation.review.submitting import hand_back, submit_review
from tests.annotation.review.cases import as_post, good_judgement
from tests.annotation.rounds.made import make_open, make_sample, say, theirs
from tests.conftest import make_person
from tests.refusals import refuses

SHORT = make_design(
    grades=["clinical_quality"], choices=[], flags=[Flag.OTHER], anchors={("clinical_quality", "5"): "exam standard"}
)


def of_round(person: User, review_round: ReviewRound) -> list[Assignment]:
    return [one for one in theirs(person) if one.round_id == review_round.pk]


def judge(assignment: Assignment, at: datetime, *, best: str = "B", **changes: object) -> None:
    """Both steps, through the acts."""
    reviewer = assignment.reviewer
    answer_blind(assignment, best=best, defensible=[best], difficulty="easy", actor=reviewer, at=at, simulated=True)
    case = own_assignment(reviewer, assignment.public_id)
    disagreement = "" if best == "B" else "own_error"
    reasoning = "" if best == "B" else "Overread."
    judgement = good_judgement(**{"disagreement": disagreement, "reasoning": reasoning, **changes})
    submit_review(case, judgement, actor=reviewer, at=at, simulated=True)


# --- forms ----------------------------------------------------------------------------------------
def test_a_design_comes_back_as_it_was_stored_and_leaves_out_the_words_of_the_paper() -> None:
    assert stored_design(SHORT.as_json()) == SHORT
    assert SHORT.flags == (Flag.IDENTIFIES, Flag.OTHER)
    assert SHORT.anchor("clinical_quality", "5") == "exam standard"
    assert SHORT.anchor("clinical_quality", "1") == "clinically wrong"
    same = make_design(
        grades=PAPER.grades,
        choices=["needs_image", "relevant"],
        flags=PAPER.flags,
        anchors={("clinical_quality", "1"): " clinically  wrong "},
    )
    assert same == PAPER


def test_a_change_is_the_next_version_and_the_same_again_is_none(cora: User, noon: datetime) -> None:
    first = store_form("Chest", SHORT, actor=cora, at=noon)
    assert store_form(" Chest ", SHORT, actor=cora, at=noon) == first
    second = store_form("Chest", PAPER, actor=cora, at=noon)
    assert [str(one) for one in (first, second)] == ["Chest-1", "Chest-2"]
    nothing = FormDesign(grades=(), choices=())
    refusals = [("", PAPER, "name_missing"), ("paper", SHORT, "name_taken"), ("X", nothing, "nothing_asked")]
    for name, design, code in refusals:
        with refuses(ReviewRefused, code):
            store_form(name, design, actor=cora, at=noon)
    assert ReviewForm.objects.count() == 2


def test_a_round_asks_its_form_and_a_review_names_it(client: Client, cora: User, rita: User, noon: datetime) -> None:
    design = RoundDesign(form=store_form("Chest", SHORT, actor=cora, at=noon))
    made = make_open(3, rita, actor=cora, design=design)
    first, second, _third = of_round(rita, made)
    client.force_login(rita)
    answer_blind(first, best="B", defensible=["B"], difficulty="easy", actor=rita, at=noon, simulated=True)
    page = client.get(f"/review/{first.public_id}/").content.decode()
    assert "exam standard" in page
    assert 'name="image_alignment"' not in page
    assert 'name="relevant"' not in page
    assert 'value="gives_away"' not in page
    assert client.post(f"/review/{first.public_id}/submit/", as_post(good_judgement())).status_code == 422
    assert not Review.objects.exists()
    case = own_assignment(rita, first.public_id)
    with pytest.raises(ReviewRefused) as refused:
        submit_review(case, good_judgement(flags=("gives_away",)), actor=rita, at=noon, simulated=True)
    problems = {problem.field for problem in refused.value.facts["problems"]}
    assert problems == {"grades", "needs_image", "relevant", "flags"}
    asked = {"grades": {"clinical_quality": 5}, "needs_image": "", "relevant": ""}
    assert submit_review(case, good_judgement(**asked), actor=rita, at=noon, simulated=True).form == "Chest-1"
    assert [grades.name for grades in round_outcomes(made).grades if grades.n] == [GradeName.CLINICAL_QUALITY]
    assert second.state == AssignmentState.WAITING
    client.force_login(cora)
    assert client.get(f"/rounds/{made.slug}/export/csv/").getvalue().decode().rstrip().endswith(",Chest-1")


# --- hidden repeats -------------------------------------------------------------------------------
@pytest.mark.parametrize(("n", "percent", "n_repeats"), [(9, 5, 0), (10, 5, 1), (40, 5, 2), (100, 20, 20), (100, 0, 0)])
def test_repeats_are_of_the_first_half_and_come_half_a_list_later(n: int, percent: int, n_repeats: int) -> None:
    order = list(range(1, n + 1))
    found = repeats_in(order, percent, 7, 0)
    assert len({number for number, _place in found}) == len(found) == n_repeats
    for number, place in found:
        assert number <= n // 2
        assert number - 1 + n // 2 <= place <= n
    assert found == repeats_in(order, percent, 7, 0)


@pytest.fixture
def repeated(cora: User, rita: User, remo: User) -> ReviewRound:
    return make_open(20, rita, remo, actor=cora, reviewers_per_question=2, design=RoundDesign(percent_repeated=10))


def test_a_repeat_is_blind_again_and_enters_nothing_but_the_agreement_with_oneself(
    client: Client, repeated: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    mine = of_round(rita, repeated)
    again = next(one for one in mine if one.repeats_id)
    first = next(one for one in mine if one.pk == again.repeats_id)
    assert len(mine) == 22
    assert [one.position for one in mine] == list(range(1, 23))
    client.force_login(rita)
    listed = client.get(f"/review/rounds/{repeated.slug}/").content.decode()
    assert first.revision.stem not in listed
    judge(first, noon)
    page = client.get(f"/review/{again.public_id}/").content.decode()
    assert "EXPLANATION-WORDS" not in page
    judge(again, noon, best="A", grades={**good_judgement().grades, "clinical_quality": 4})
    outcomes = round_outcomes(repeated)
    assert (outcomes.n_reviews, outcomes.ceiling.count) == (1, 1)
    own = own_agreement(repeated)
    assert (own.n_questions, own.n_people, round_agreement(repeated).n_questions) == (1, 1, 0)
    by_label = {row.label: row.found.results["percent_agreement"].value for table in own.tables for row in table.rows}
    assert by_label["Best answer, before the key"] == 0
    assert by_label["Verdict"] == 1
    client.force_login(cora)
    assert "Agreement with oneself" in client.get(f"/rounds/{repeated.slug}/agreement/").content.decode()
    assert client.get(f"/rounds/{repeated.slug}/export/csv/").getvalue().decode().count("\n") == 2
    close_round(repeated, actor=cora, at=noon, confirmed_open=count_open(repeated))
    question = first.revision.question
    page = client.get(f"/banks/{repeated.plan.bank.slug}/{question.number}/").content.decode()
    assert page.count("hidden repeat") == 1
    assert "with 2 reviews of this question" in page


def test_repeats_stay_with_their_reviewer(
    repeated: ReviewRound, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    ruth = make_person("Ruth")
    add_reviewer(repeated, ruth, actor=cora, at=noon)
    hers = of_round(ruth, repeated)
    assert sum(one.repeats_id is not None for one in hers) == 1
    assert all(one.repeats is None or one.repeats.reviewer_id == ruth.pk for one in hers)
    for person in (rita, remo):
        there = Assignment.objects.filter(reviewer=person, round=repeated).exclude(state="withdrawn")
        assert not there.filter(repeats__state="withdrawn").exists()
    remove_reviewer(repeated, remo, actor=cora, at=noon)
    assert not Assignment.objects.filter(reviewer=remo).exclude(state=AssignmentState.WITHDRAWN).exists()
    firsts = Assignment.objects.filter(round=repeated, repeats=None).exclude(state=AssignmentState.WITHDRAWN)
    assert firsts.count() == 40


@pytest.mark.logs("review.returned")
def test_who_knows_the_patient_gives_the_repeat_up_too(repeated: ReviewRound, rita: User, noon: datetime) -> None:
    again = next(one for one in of_round(rita, repeated) if one.repeats_id)
    first = again.repeats
    assert first is not None
    hand_back(own_assignment(rita, first.public_id), ReturnReason.KNOWS_PATIENT, actor=rita, at=noon)
    again.refresh_from_db()
    assert again.state == AssignmentState.WITHDRAWN


# --- calibration ----------------------------------------------------------------------------------
def test_the_shared_answer_is_that_of_the_majority_and_grades_may_differ_by_one() -> None:
    def opinion(best: str | None, verdict: str, quality: int | str) -> Opinion:
        return Opinion(best=best, verdict=verdict, flags=frozenset(), grades={"clinical_quality": quality})

    shared = shared_opinion(
        [opinion("B", "accept", 5), opinion("B", "revise", 3), opinion("A", "accept", "cannot_judge")]
    )
    assert (shared.best, shared.verdict, shared.grades) == ("B", "accept", {"clinical_quality": 3})
    assert shared_opinion([opinion("A", "accept", 4), opinion("B", "revise", 4)], "revise").best is None
    lines = compare(opinion("B", "revise", 4), shared)
    assert [(line.field, line.agrees, line.distance) for line in lines] == [
        ("best", True, None),
        ("clinical_quality", True, 1),
        ("verdict", False, None),
    ]
    assert has_passed(lines, 66)
    assert not has_passed(lines, 67)
    assert not has_passed([], 1)
    assert not compare(opinion("B", "accept", "cannot_judge"), shared)[1].agrees


@pytest.fixture
def shared(cora: User, noon: datetime) -> ReviewRound:
    """Three questions, reviewed by an expert, closed."""
    expert = make_person("Elke")
    made = make_open(make_sample(3, name="Calibration"), expert, name="Shared", actor=cora)
    for one in of_round(expert, made):
        say(one, comment="The aortic knob hides it.")
    close_round(made, actor=cora, at=noon)
    return made


@pytest.fixture
def calibrated(shared: ReviewRound, cora: User, rita: User, remo: User) -> ReviewRound:
    return make_open(
        4, rita, remo, actor=cora, reviewers_per_question=2, design=RoundDesign(shared_answers=shared, pass_mark=70)
    )


def calibrate(person: User, review_round: ReviewRound, at: datetime, **said: object) -> CalibrationResult:
    cases = begin_calibration(review_round, person, at=at)
    for one in of_round(person, cases):
        judge(one, at, **said)  # type: ignore[arg-type]
    return CalibrationResult.objects.get(round=review_round, reviewer=person)


@pytest.mark.logs("calibration.begun", "calibration.finished")
def test_nothing_of_a_round_opens_before_its_calibration_is_passed(
    client: Client, calibrated: ReviewRound, rita: User, noon: datetime
) -> None:
    client.force_login(rita)
    address, first = f"/review/rounds/{calibrated.slug}/", of_round(rita, calibrated)[0]
    listed = client.get(address).content.decode()
    assert "calibration" in listed
    assert first.revision.stem not in listed
    assert client.get(f"{address}continue/?begin").headers["Location"] == address
    assert client.get(f"/review/{first.public_id}/").status_code == 409
    with pytest.raises(ReviewRefused, match="calibration"):
        judge(first, noon)
    began = client.post(f"{address}calibration/")
    case = client.get(began.headers["Location"])
    assert case.status_code == 200
    assert "EXPLANATION-WORDS" not in case.content.decode()
    own = ReviewRound.everywhere.get(calibrates=calibrated)
    assert client.get(f"/review/rounds/{own.slug}/").headers["Location"] == f"{address}calibration/"
    assert client.get(f"/review/rounds/{own.slug}/continue/").headers["Location"] == f"{address}calibration/"
    for one in of_round(rita, own):
        judge(one, noon)
    result = CalibrationResult.objects.get()
    assert (result.rule, result.passed, result.n_agreed, result.n_compared) == ("calibration-1", True, 15, 15)
    page = client.get(f"{address}calibration/").content.decode()
    assert "The aortic knob hides it." in page
    assert "15 of 15" in page
    assert client.get(f"/review/{first.public_id}/").status_code == 200
    with pytest.raises(ReviewRefused, match="final"):
        judge(of_round(rita, own)[0], noon)
    assert (round_outcomes(calibrated).n_reviews, count_open(calibrated)) == (0, 8)


def test_how_others_compare_is_not_for_a_reviewer(
    client: Client, calibrated: ReviewRound, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    calibrate(rita, calibrated, noon)
    client.force_login(rita)
    own = f"/review/rounds/{calibrated.slug}/"
    addresses = ["/", "/review/", own, f"{own}calibration/"]

    def seen() -> list[bytes]:
        pages = (client.get(address).content for address in addresses)
        return [re.sub(rb'"X-CSRFToken": "[^"]+"|csrfmiddlewaretoken" value="[^"]+"', b"", page) for page in pages]

    before = seen()
    calibrate(remo, calibrated, noon, best="A", verdict="reject", reasoning="Unsound.")
    let_in(calibrated, remo, "All the same.", actor=cora, at=noon)
    assert seen() == before


@pytest.mark.logs("calibration.let_in")
def test_who_does_not_pass_waits_for_a_coordinator(
    client: Client, calibrated: ReviewRound, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    calibrate(rita, calibrated, noon)
    low = {**dict.fromkeys(PAPER.grades, 1)}
    result = calibrate(remo, calibrated, noon, best="A", grades=low, comment="Poor.")
    assert (result.passed, result.n_agreed, result.n_compared) == (False, 3, 15)
    for act in (complete_reviews, close_round):
        with pytest.raises(ReviewRefused, match=f"The calibration is open: {remo.name}") as refused:
            act(calibrated, actor=cora, at=noon, confirmed_open=8)
        assert refused.value.code == "open_calibration"
    client.force_login(cora)
    page = client.get(f"/rounds/{calibrated.slug}/").content.decode()
    assert "not passed" in page
    assert "Distance from the shared answers" in page
    address = f"/rounds/{calibrated.slug}/let-in/{remo.pk}/"
    client.post(address, {"reason": " "})
    assert CalibrationResult.objects.get(reviewer=remo).let_in_at is None
    client.post(address, {"reason": "He read the anchors again."})
    assert CalibrationResult.objects.get(reviewer=remo).let_in_by == cora
    judge(of_round(remo, calibrated)[0], noon)
    with pytest.raises(ReviewRefused, match="needs no leave"):
        let_in(calibrated, rita, "No need.", actor=cora, at=noon)
    rows = {one.person: one for one in calibration_of(calibrated, [rita, remo])}
    assert all(one.is_in for one in rows.values())
    assert {one.field: (one.agreed.count, one.n_away) for one in distances_of(calibrated)}["clinical_quality"] == (
        3,
        [3, 0, 0, 0, 3],
    )
    complete_reviews(calibrated, actor=cora, at=noon, confirmed_open=7)
    assert ReviewRound.everywhere.get(calibrates=calibrated).state == RoundState.CLOSED


def test_who_gave_a_shared_answer_needs_no_calibration_and_nobody_begins_that_of_others(
    client: Client, calibrated: ReviewRound, shared: ReviewRound, cora: User, rita: User, stan: User, noon: datetime
) -> None:
    client.force_login(rita)
    assert client.get(f"/review/rounds/{shared.slug}/calibration/").status_code == 404
    with pytest.raises(ReviewRefused, match="does not review"):
        begin_calibration(calibrated, stan, at=noon)
    elke = User.objects.get(name="Elke")
    add_reviewer(calibrated, elke, actor=cora, at=noon)
    judge(of_round(elke, calibrated)[0], noon)
    with pytest.raises(ReviewRefused, match="passed"):
        begin_calibration(calibrated, elke, at=noon)


def test_what_cannot_be_shared_answers(
    shared: ReviewRound, calibrated: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    cases = [
        (shared.plan, RoundDesign(shared_answers=shared, pass_mark=70), "Questions 1, 2, 3 of the sample"),
        (calibrated.plan, RoundDesign(shared_answers=calibrated, pass_mark=70), "closed round"),
        (calibrated.plan, RoundDesign(shared_answers=shared), "pass mark"),
        (calibrated.plan, RoundDesign(percent_repeated=21), "0 to 20 percent"),
        (calibrated.plan, RoundDesign(due_at=noon - timedelta(days=1)), "past"),
    ]
    before = ReviewRound.everywhere.count()
    for plan, design, sentence in cases:
        with pytest.raises(ReviewRefused, match=sentence):
            create_round(plan, name="New", reviewers=[rita], design=design, actor=cora, at=noon)
    assert ReviewRound.everywhere.count() == before


# --- competences ----------------------------------------------------------------------------------
@pytest.mark.logs("person.competences")
def test_a_reviewer_is_given_questions_of_their_competences_only(
    client: Client, ada: User, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    client.force_login(ada)
    client.post(f"/people/{rita.pk}/competences/", {"competences": "devices\n\n Devices \nlocation"})
    assert list(rita.competences.values_list("word", flat=True)) == ["devices", "location"]
    plan = make_sample(6)
    for sampled in plan.questions.filter(position__lte=2):
        sampled.revision.category = "Devices"
        sampled.revision.save()
    made = create_round(plan, name="Round", reviewers=[rita, remo], actor=cora, at=noon)
    assert {one.revision.category for one in of_round(rita, made)} <= {"Devices"}
    assert len(of_round(rita, made)) + len(of_round(remo, made)) == 6
    with pytest.raises(ReviewRefused, match="other categories only"):
        create_round(plan, name="Two", reviewers=[rita, remo], reviewers_per_question=2, actor=cora, at=noon)
    assert set_competences(rita, [], actor=ada, at=noon) == []


# --- costs, copies and the pages ------------------------------------------------------------------
def test_what_a_round_costs(
    client: Client,
    shared: ReviewRound,
    cora: User,
    rita: User,
    noon: datetime,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    done = create_round(make_sample(8, name="Before"), name="Before", reviewers=[rita], actor=cora, at=noon)
    for one in of_round(rita, done):
        say(one, active_ms=60_000, time_rule="active-2")
        one.blind_answer.__class__.objects.filter(assignment=one).update(active_ms=30_000)
    plan = make_sample(20, name="New")
    cost = cost_of(plan, per_question=2, n_reviewers=2, steps="full", percent_repeated=5, shared_answers=shared)
    assert (cost.n_reviews, cost.n_repeats, cost.n_calibration, cost.n_cases) == (40, 2, 6, 48)
    assert (cost.minutes.value, cost.minutes.n, cost.n_rounds) == (1.5, 8, 1)
    assert cost.hours == pytest.approx(1.2)
    assert cost_of(plan, per_question=3, n_reviewers=0, steps="open").hours is None
    client.force_login(cora)
    with django_assert_max_num_queries(12):
        page = client.get(f"/rounds/new/cost/?sample={plan.slug}&per_question=2&steps=full&percent_repeated=5")
    assert "20" in page.content.decode()
    assert "1.5" in page.content.decode()
    assert "Choose a sample" in client.get("/rounds/new/cost/").content.decode()


def test_a_round_is_copied_with_its_design(
    client: Client, calibrated: ReviewRound, cora: User, rita: User, remo: User
) -> None:
    client.force_login(cora)
    initial = client.get(f"/rounds/new/?from={calibrated.slug}").context["form"].initial
    assert initial["name"] == "Round, 2"
    assert initial["shared_answers"] == "shared"
    assert (initial["pass_mark"], initial["per_question"]) == (70, 2)
    assert set(initial["reviewers"]) == {rita.pk, remo.pk}
    sent = {name: value for name, value in initial.items() if value not in (None, "")}
    made = client.post("/rounds/new/", sent)
    copy = ReviewRound.objects.get(name="Round, 2")
    assert made.headers["Location"] == f"/rounds/{copy.slug}/"
    assert (copy.shared_answers, copy.pass_mark, copy.plan) == (calibrated.shared_answers, 70, calibrated.plan)
    wrong = client.post("/rounds/new/", {**sent, "name": "Third", "sample": "calibration"})
    assert (wrong.status_code, list(wrong.context["form"].errors)) == (422, ["shared_answers"])


def test_a_round_is_made_and_opened_in_one_act(client: Client, cora: User, rita: User) -> None:
    client.force_login(cora)
    sample = make_sample(4).slug
    sent = {"sample": sample, "per_question": 1, "steps": "full", "seed": 1, "open": "yes"}
    page = client.post("/rounds/new/", {**sent, "name": "Spring", "reviewers": [rita.pk]}, follow=True)
    assert "The round is open: its reviewers see their questions now." in page.content.decode()
    page = client.post("/rounds/new/", {**sent, "name": "Autumn"}, follow=True)
    assert "Nobody reviews" in page.content.decode()
    states = dict(ReviewRound.objects.values_list("name", "state"))
    assert (states["Spring"], states["Autumn"]) == (RoundState.OPEN, RoundState.DRAFT)


@pytest.mark.logs("form.stored")
def test_a_form_is_made_on_its_page(client: Client, cora: User) -> None:
    client.force_login(cora)
    assert "No form of your own" in client.get("/rounds/new/forms/").content.decode()
    sent = {"name": "Chest", "grades": ["clinical_quality"], "anchor-clinical_quality-5": "exam standard"}
    made = client.post("/rounds/new/forms/add/", sent)
    stored = ReviewForm.objects.get()
    assert made.headers["Location"] == f"/rounds/new/forms/{stored.pk}/"
    page = client.get(f"/rounds/new/forms/{stored.pk}/").content.decode()
    assert "exam standard" in page
    assert "cue in the wording" in page
    again = client.get("/rounds/new/forms/add/?from=Chest").content.decode()
    assert 'value="exam standard"' in again
    nothing = client.post("/rounds/new/forms/add/", {"name": "Chest"})
    assert (nothing.status_code, list(nothing.context["form"].errors)) == (422, ["grades"])
    assert "Chest" in client.get("/rounds/new/forms/").content.decode()

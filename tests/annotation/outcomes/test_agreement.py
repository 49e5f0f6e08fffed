"""The agreement of reviewers on the page of a round: from the newest versions, with n, interval and rule."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.enums import Degree, Flag, Role, RoundSteps
from annotation.models import Membership, Review, ReviewRound, User
from annotation.outcomes.agreement import AgreementRow, RoundAgreement, round_agreement
from annotation.review.kernels.form_design import PAPER
from annotation.review.rounds import create_round, open_round
from annotation.statistics.kernels import pairs
from annotation.statistics.kernels.bootstrap import units_of
from annotation.statistics.kernels.reviewers import grade_agreement
from tests.annotation.rounds.made import make_sample, say, theirs
from tests.conftest import make_person

GRADES = PAPER.grades
NBSP = "\N{NO-BREAK SPACE}"


def make_opened(
    *reviewers: User, actor: User, at: datetime, n: int = 12, steps: RoundSteps = RoundSteps.FULL
) -> ReviewRound:
    made = create_round(
        make_sample(n),
        name="Round",
        reviewers=list(reviewers),
        reviewers_per_question=2,
        steps=steps,
        actor=actor,
        at=at,
    )
    open_round(made, actor=actor, at=at)
    return made


@pytest.fixture
def pair(db: None, cora: User, rita: User, remo: User, noon: datetime) -> ReviewRound:
    """36 questions, both on each; Rita gives 5, 4, 3, Remo 5, 4, 4; one flag in every sixth of both, and one more."""
    made = make_opened(rita, remo, actor=cora, at=noon, n=36)
    for person, scale in ((rita, (5, 4, 3)), (remo, (5, 4, 4))):
        for one in theirs(person):
            number = one.revision.question.number
            flags = [Flag.UNSOUND] if number % 6 == 0 or (person == rita and number % 6 == 1) else []
            alignment = "cannot_judge" if number == 5 and person == rita else 5
            grades = dict.fromkeys(GRADES, scale[number % 3]) | {"image_alignment": alignment}
            say(one, grades=grades, flags=flags, comment="why", best="B" if person == rita or number % 4 else "")
    return made


def row_of(found: RoundAgreement, label: str) -> AgreementRow:
    return next(row for table in found.tables for row in table.rows if row.label == label)


def test_the_page_has_the_numbers_of_the_proved_kernels(pair: ReviewRound) -> None:
    found = round_agreement(pair, draws=500)
    assert (found.n_reviewers, found.n_questions, found.n_single, found.n_pairs) == (2, 36, 0, 36)
    assert found.n_clusters == 12
    assert row_of(found, "Verdict").found.results["percent_agreement"].method == "bootstrap_clusters"
    quality = row_of(found, "Clinical quality").found
    codes = np.array([[(5, 4, 3)[n % 3] - 1 for n in range(1, 37)], [(5, 4, 4)[n % 3] - 1 for n in range(1, 37)]])
    proved = grade_agreement(codes, 5, units_of(np.arange(36)), seed=1, panel="reviews")
    for name in ("cohen_kappa_quadratic", "krippendorff_alpha_ordinal"):
        assert quality.results[name].value == pytest.approx(proved[name].value)
    unsound = row_of(found, "ambiguous or clinically unsound").found
    table = np.array([[6, 6], [0, 24]])
    for statistic in (pairs.percent_agreement, pairs.cohen_kappa, pairs.gwet_ac1, pairs.brennan_prediger):
        assert unsound.results[statistic.__name__].value == pytest.approx(float(statistic(table)))
    assert unsound.results["specific_agreement_positive"].value == pytest.approx(12 / 18)
    best = row_of(found, "Best answer, before the key").found
    assert best.results["percent_agreement"].value == pytest.approx(27 / 36)


def test_who_cannot_judge_gives_no_grade_and_is_counted(pair: ReviewRound) -> None:
    row = row_of(round_agreement(pair, draws=100), "Image alignment")
    assert (row.found.n_questions, row.found.n_pairs, row.n_cannot_judge) == (35, 35, 1)
    assert row.found.results["krippendorff_alpha_ordinal"].reason == "no_variation"


def test_the_newest_version_counts_and_single_reviews_enter_nothing(
    db: None, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    made = make_opened(rita, remo, actor=cora, at=noon)
    ritas, remos = theirs(rita), {one.revision_id: one for one in theirs(remo)}
    say(ritas[0], needs_image=Degree.NO)
    say(ritas[0], version=2, needs_image=Degree.YES, at=noon + timedelta(hours=1))
    say(remos[ritas[0].revision_id], needs_image=Degree.YES)
    say(ritas[1])
    found = round_agreement(made, draws=100)
    assert (found.n_questions, found.n_single) == (1, 1)
    assert row_of(found, "Image needed").found.results["percent_agreement"].value == 1


def test_three_reviewers_have_the_coefficients_of_more_than_two(
    db: None, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    ruth = make_person("Ruth", Role.REVIEWER)
    made = make_opened(rita, remo, ruth, actor=cora, at=noon, n=12)
    for person in (rita, remo, ruth):
        for one in theirs(person):
            say(one)
    found = round_agreement(made, draws=100)
    assert (found.n_reviewers, found.n_questions, found.n_pairs) == (3, 12, 12)
    assert "fleiss_kappa" in row_of(found, "Verdict").found.results
    assert "cohen_kappa_quadratic" not in row_of(found, "Clinical quality").found.results
    assert row_of(found, "Clinical quality").found.results["icc2_1"].reason == "too_few"


def test_a_round_of_judgement_only_has_no_rows_of_blind_answers(
    db: None, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    made = make_opened(rita, remo, actor=cora, at=noon, n=3, steps=RoundSteps.OPEN)
    for person in (rita, remo):
        for one in theirs(person):
            say(one, best=None)
    labels = [row.label for table in round_agreement(made, draws=100).tables for row in table.rows]
    assert "Verdict" in labels
    assert not any("before the key" in label for label in labels)


def test_one_query_whatever_the_size(pair: ReviewRound, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(1):
        round_agreement(pair, draws=10)


def test_the_page_and_its_part(client: Client, cora: User, pair: ReviewRound) -> None:
    client.force_login(cora)
    whole = client.get("/rounds/round/agreement/").content.decode()
    assert "36 questions have two reviews or more, 36 pairs of reviews" in " ".join(whole.split())
    assert "percentile bootstrap over 12 patients or exams" in " ".join(whole.split())
    assert "AC2 t limits with Gwet’s linearised error; both take questions as independent" in " ".join(whole.split())
    assert "AC2 and ICC take questions of one patient or exam as independent" in whole
    assert "Weighted agreement has none: that of AC2" in " ".join(whole.split())
    assert f"66.67{NBSP}%" in whole  # both set the flag six times, one of them six times more
    assert "not defined: all gave the same answer" in whole
    part = client.get("/rounds/round/agreement/", headers={"HX-Request": "true"})
    assert part.content.strip().startswith(b'<section id="agreement"')
    assert "HX-Request" in part["Vary"]
    assert b'hx-get="/rounds/round/agreement/"' in client.get("/rounds/round/").content


def test_a_round_without_two_reviews_of_a_question_says_so(
    client: Client, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    make_opened(rita, remo, actor=cora, at=noon, n=3)
    client.force_login(cora)
    assert b"No question has two reviews yet" in client.get("/rounds/round/agreement/").content


def test_it_is_hidden_as_outcomes_are(
    client: Client, cora: User, remo: User, stan: User, pair: ReviewRound, noon: datetime
) -> None:
    Membership.objects.create(user=remo, role=Role.COORDINATOR, round=pair, granted_at=noon)
    for person, status in ((stan, 404), (remo, 403), (cora, 200)):
        client.force_login(person)
        assert client.get("/rounds/round/agreement/").status_code == status
        assert client.post("/rounds/round/agreement/").status_code == 405
    client.force_login(remo)
    assert b"/rounds/round/agreement/" not in client.get("/rounds/round/").content


def test_notes_of_every_row_are_said_once(pair: ReviewRound) -> None:
    flags = round_agreement(pair, draws=100).tables[-1]
    assert flags.notes == []
    of_label = {row.label: row for row in flags.rows}
    never, some = of_label["other"], of_label["ambiguous or clinically unsound"]
    assert never.notes == ["all agree: nothing varies that an interval could be made of"]
    assert some.notes == []
    Review.objects.filter(assignment__revision__question__number__gt=8).delete()
    [*_others, few] = round_agreement(pair, draws=100).tables
    assert few.notes == ["fewer than 10 questions: no intervals"]
    assert {note for row in few.rows for note in row.notes} == set()

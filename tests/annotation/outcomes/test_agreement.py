"""The agreement of reviewers on the page of a round: from the newest versions, with n, interval and rule."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from django.test import Client
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from pytest_django import DjangoAssertNumQueries

from annotation.enums import Degree, Flag, Role, RoundSteps
from annotation.models import Membership, Review, ReviewRound, User
from annotation.outcomes.agreement import AgreementRow, RoundAgreement, round_agreement
from annotation.outcomes.kernels.field_agreement import FieldRatings, FieldScale, field_agreement
from annotation.review.kernels.form_design import PAPER
from annotation.statistics.kernels import pairs
from annotation.statistics.kernels.bootstrap import units_of
from annotation.statistics.kernels.intervals import share
from annotation.statistics.kernels.reviewers import grade_agreement
from annotation.tables.kernels.forms import Width
from annotation.tables.kernels.row_figures import COLOURS, Graded, Issue, grades_figure, outcomes_figure
from annotation.tables.kernels.style import in_style
from tests.annotation.rounds.made import make_open, say, theirs
from tests.annotation.statistics.goldencases import read
from tests.conftest import make_person

GRADES = PAPER.grades
NBSP = "\N{NO-BREAK SPACE}"


def make_opened(
    *reviewers: User, actor: User, at: datetime, n: int = 12, steps: RoundSteps = RoundSteps.FULL
) -> ReviewRound:
    return make_open(n, *reviewers, actor=actor, reviewers_per_question=2, steps=steps)


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


def test_it_is_hidden_as_outcomes_are(client: Client, remo: User, pair: ReviewRound, noon: datetime) -> None:
    Membership.objects.create(user=remo, role=Role.COORDINATOR, round=pair, granted_at=noon)
    client.force_login(remo)
    assert client.get("/rounds/round/agreement/").status_code == 403
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


# --- Agreement on the fields of the form: the numbers of the proved kernels, whatever the number of reviewers ---
DRAWS = 400
OF_TWO = ("percent_agreement", "cohen_kappa", "gwet_ac1", "brennan_prediger")


def of(scale: FieldScale, codes: Any, n_values: int, clusters: Any = None) -> Any:
    ratings = FieldRatings(scale, np.asarray(codes), n_values)
    cluster = np.arange(ratings.codes.shape[1]) if clusters is None else np.asarray(clusters)
    [found] = field_agreement([ratings], units_of(cluster), seed=1, draws=DRAWS)
    return found


def codes_of_table(table: list[list[int]]) -> NDArray[np.int64]:
    cells = [(i, j) for i, row in enumerate(table) for j, n in enumerate(row) for _each in range(n)]
    return np.array(cells).T


def test_two_reviewers_who_grade_have_the_printed_weighted_kappa() -> None:
    case = read("kappa_ordinal_review_grades")
    codes = codes_of_table(case["input"]["matrix"])
    found = of(FieldScale.GRADES, codes, 5)
    assert (found.n_questions, found.n_pairs) == (90, 90)
    for name in ("percent_agreement", "cohen_kappa_quadratic"):
        assert found.results[name].value == pytest.approx(case["expected"][name]["value"], abs=1e-9)
    proved = grade_agreement(codes, 5, units_of(np.arange(90)), seed=1, panel="reviews", draws=10_000)
    alpha = found.results["krippendorff_alpha_ordinal"]
    assert alpha.value == pytest.approx(proved["krippendorff_alpha_ordinal"].value)
    assert alpha.ci95 == pytest.approx(proved["krippendorff_alpha_ordinal"].ci95, abs=0.04)
    assert found.results["percent_agreement"].method == "wilson"


def test_two_reviewers_who_flag_have_the_numbers_of_the_golden_records() -> None:
    case = read("review_outcomes_two_reviewers")
    flagged: dict[str, dict[str, list[str]]] = {"E1": {}, "E2": {}}
    for record in case["input"]["records"]:
        flagged[record["reviewer"]][record["question"]] = record["issues"]
    questions = sorted({record["question"] for record in case["input"]["records"]})
    for issue in ("multiple_valid_answers", "comparison_content", "clinical_validity", "hallucinated"):
        codes = [[int(issue not in one[q]) if q in one else -1 for q in questions] for one in flagged.values()]
        found = of(FieldScale.FLAG, codes, 2)
        expected = {name: case["expected"][f"{issue}: {name}"]["value"] for name in OF_TWO}
        for which, value in case["expected"][f"{issue}: specific_agreement"]["value"].items():
            expected[f"specific_agreement_{which}"] = value
        assert found.results.keys() == expected.keys()
        assert {one.n for one in found.results.values()} == {case["expected"]["questions_seen_by_both"]["value"]}
        for name, one in found.results.items():
            assert one.value == pytest.approx(expected[name], abs=1e-6)


def test_more_observers_have_the_published_alpha() -> None:
    case = read("multi_krippendorff_2011_c")
    codes = np.array([[-1 if one is None else one - 1 for one in row] for row in case["input"]["matrix"]]).T
    nominal, ordinal = of(FieldScale.CHOICE, codes, 5), of(FieldScale.GRADES, codes, 5)
    expected = {name: one["value"] for name, one in case["expected"].items()}
    for name in ("percent_agreement", "fleiss_kappa", "gwet_ac1", "brennan_prediger", "krippendorff_alpha_nominal"):
        assert nominal.results[name].value == pytest.approx(expected[name], abs=1e-6)
    alpha = ordinal.results["krippendorff_alpha_ordinal"]
    assert alpha.value == pytest.approx(expected["krippendorff_alpha_ordinal"], abs=1e-6)
    assert "cohen_kappa_quadratic" not in ordinal.results
    assert (nominal.n_questions, nominal.n_pairs) == (11, 8 * 6 + 3 + 3 + 1)


def test_judges_who_grade_everything_have_the_published_correlation() -> None:
    case = read("icc_shrout_fleiss_1979")
    codes = np.array(case["input"]["matrix"]).T - 1
    found = of(FieldScale.GRADES, codes, 10).results["icc2_1"]
    assert found.value == pytest.approx(case["expected"]["icc2_1"]["value"], abs=1e-6)
    assert found.ci95 == pytest.approx(case["expected"]["icc2_1_ci95"]["value"], abs=1e-5)


def test_specific_agreement_of_three_is_that_of_all_their_pairs() -> None:
    codes = (np.random.default_rng(3).random((3, 60)) > 0.3).astype(np.int64)
    found = of(FieldScale.FLAG, codes, 2)
    table = np.zeros((2, 2))
    for i, j in combinations(range(3), 2):
        for first, second in zip(codes[i], codes[j], strict=True):
            table[first, second] += 1
    (a, b), (c, d) = table
    assert found.n_pairs == 180
    assert found.results["specific_agreement_positive"].value == pytest.approx(2 * a / (2 * a + b + c))
    assert found.results["specific_agreement_negative"].value == pytest.approx(2 * d / (2 * d + b + c))
    assert found.results["specific_agreement_positive"].ci95 is not None


def test_clusters_are_drawn_together_and_the_correlation_says_that_it_takes_none() -> None:
    codes = np.random.default_rng(5).integers(5, size=(2, 60))
    alone, together = of(FieldScale.GRADES, codes, 5), of(FieldScale.GRADES, codes, 5, np.arange(60) // 3)
    assert alone.results["percent_agreement"].method == "wilson"
    assert together.results["percent_agreement"].method == "bootstrap_clusters"
    assert "clusters_ignored" in together.results["icc2_1"].flags
    assert "clusters_ignored" not in alone.results["icc2_1"].flags


@pytest.mark.parametrize("n_reviewers", [2, 3])
def test_what_is_not_defined_says_why(n_reviewers: int) -> None:
    nobody = of(FieldScale.FLAG, np.ones((n_reviewers, 12), dtype=np.int64), 2).results
    assert nobody["percent_agreement"].value == 1
    assert nobody["specific_agreement_positive"].reason == "zero_trials"
    assert nobody["gwet_ac1"].value == nobody["specific_agreement_negative"].value == 1
    kappa = nobody["cohen_kappa" if n_reviewers == 2 else "fleiss_kappa"]
    assert kappa.reason == "expected_agreement_is_one"
    never = of(FieldScale.GRADES, np.full((n_reviewers, 4), -1), 5)
    assert (never.n_questions, never.n_pairs) == (0, 0)
    assert {one.reason for one in never.results.values()} <= {"no_common_questions", "too_few"}
    same = of(FieldScale.CHOICE, np.zeros((n_reviewers, 12), dtype=np.int64), 3).results
    assert same["krippendorff_alpha_nominal"].reason == "no_variation"


# --- the outcomes of a round as a figure: a row for each issue, with Wilson's limits and k of n ---
ISSUES = [Issue("Incorrect key", share(12, 60)), Issue("Unclear wording", share(0, 60)), Issue("Rare", share(1, 4))]


@pytest.mark.parametrize("width", list(Width), ids=str)
def test_each_issue_is_drawn_with_its_limits_and_counts(width: Width) -> None:
    with in_style():
        figure = outcomes_figure(ISSUES, width, simulated=True)
        figure.draw_without_rendering()
    [axes] = figure.axes
    marks = [float(np.asarray(one.get_xdata())[0]) for one in axes.lines if one.get_marker() == "o"]
    assert marks == pytest.approx([20.0, 0.0, 25.0])
    texts = [one.get_text() for one in axes.texts]
    assert {"12 of 60", "0 of 60", "1 of 4 †"} <= set(texts)
    assert ("20.0 (11.8, 31.8)" in texts) == (width == Width.TWO)
    assert max(one.get_window_extent().x1 for one in axes.texts) <= figure.bbox.x1 + 1
    assert figure.get_supxlabel() == "Simulated data"


def test_percents_are_rounded_as_the_paper_prints_them() -> None:
    """Its review of the alignment of images, and that of the later reader study."""
    issues = [Issue("Alignment", share(1, 200)), Issue("Later", share(2, 300))]
    texts = [one.get_text() for one in outcomes_figure(issues, Width.ONE, simulated=False).axes[0].texts]
    assert {"0.5", "1 of 200", "0.7", "2 of 300"} <= set(texts)


def test_a_round_without_reviews_has_rows_without_numbers() -> None:
    figure = outcomes_figure([Issue("Incorrect key", share(0, 0))], Width.ONE, simulated=False)
    assert "n/a" in [one.get_text() for one in figure.axes[0].texts]
    assert figure.get_supxlabel() == ""


def test_a_rate_without_interval_is_drawn_inside_the_axis() -> None:
    whole = replace(share(60, 60), ci95=None, flags=("whole_bank",))
    with in_style():
        figure = outcomes_figure([Issue("Incorrect key", whole)], Width.TWO, simulated=False)
    assert figure.axes[0].get_xlim() == (0, 100)
    assert "100.0 (all reviewed)" in [one.get_text() for one in figure.axes[0].texts]


def test_of_the_bank_counts_of_the_sample_are_not_printed() -> None:
    mixed = replace(share(12, 60), count=None)
    figure = outcomes_figure([Issue("Incorrect key", mixed)], Width.TWO, simulated=False, of_bank=True)
    assert "n = 60" in [one.get_text() for one in figure.axes[0].texts]
    assert figure.axes[0].get_xlabel() == "Questions of the bank with the issue, %"


# --- The grades of a round as a figure: one stacked bar for each, with its median and n beside it ---
GRADED = [
    Graded("Clinical quality", {5: 12, 4: 6, 3: 4, 2: 1, 1: 1}, 4.5, 3),
    Graded("Image alignment", {}, None, 27),
]


@pytest.mark.parametrize("width", list(Width), ids=str)
def test_each_grade_is_stacked_from_one_to_five_and_says_its_n(width: Width) -> None:
    with in_style():
        figure = grades_figure(GRADED, width, simulated=True)
        figure.draw_without_rendering()
    [axes] = figure.axes
    parts = [one for one in axes.patches if isinstance(one, Rectangle)]
    assert [one.get_width() for one in parts] == pytest.approx([100 * n / 24 for n in (1, 1, 4, 6, 12)])
    assert [one.get_x() for one in parts] == pytest.approx([100 * n / 24 for n in (0, 1, 2, 6, 12)])
    texts = [one.get_text() for one in axes.texts]
    assert {"4.5", "24", "3", "n/a", "0", "27", "50.0"} <= set(texts)
    assert max(one.get_window_extent().x1 for one in axes.texts) <= figure.bbox.x1 + 1
    assert [one.get_text() for one in figure.legends[0].get_texts()] == [str(grade) for grade in COLOURS]
    assert figure.get_supxlabel() == "Simulated data"

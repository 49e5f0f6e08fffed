"""What touches results: the glass, the first look, own results, the re-review."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from annotation.audit.recording import verify
from annotation.enums import RoundState
from annotation.models import Assignment, AuditEvent, ReviewRound, SampledQuestion, SamplingPlan, User
from readerstudy.conducting.rereviewing import mixture_of, rereviews_of, send_to_rereview
from readerstudy.design.kernels.documents import Rules
from readerstudy.enrolment.participation import may_see_results, see_own_results
from readerstudy.enums import StudyState
from readerstudy.models import Enrolment, ReaderStudy, Reading, Response
from readerstudy.predictions.looks import accuracy_of, looks_before_closing, tallies, view_interim_results
from readerstudy.study.permissions import StudyRefused
from tests.readerstudy.exports.read_study import read, read_study, void
from tests.readerstudy.studies import enrol, make_study, places_of

REASON = "The sponsor asked for a safety look."


@pytest.fixture
def study(rita: User, remo: User) -> ReaderStudy:
    """Of eight cases with key B, Rita has answered seven in all ways: right are B and the unconfirmed B."""
    return read_study(rita, remo)


def closed(study: ReaderStudy) -> ReaderStudy:
    ReaderStudy.objects.filter(pk=study.pk).update(state=StudyState.CLOSED)
    study.refresh_from_db()
    return study


def test_the_tally_counts_as_the_states_say(study: ReaderStudy) -> None:
    first, second = tallies(study)
    assert (first.accuracy.count, first.accuracy.n, first.accuracy.method) == (2, 7, "wilson")
    assert (second.accuracy.value, second.accuracy.reason) == (None, "zero_trials")


def test_a_newer_choice_that_came_after_the_close_counts(study: ReaderStudy) -> None:
    ran_out = Reading.objects.get(responses__state="timed_out")
    more = {"reading": ran_out, "is_confirmed": False, "choice_sequence": 1, "stored_at": ran_out.closed_at}
    Response.objects.create(state="unconfirmed", option="B", **more)
    assert tallies(study)[0].accuracy.count == 3


def test_a_voided_case_counts_for_nobody(study: ReaderStudy, rita: User) -> None:
    void(study.cases.get(block="main", number=1))
    [first, _second] = tallies(study)
    assert (first.accuracy.count, first.accuracy.n) == (1, 6)
    assert accuracy_of(first.enrolment) == first.accuracy


def test_the_glass_asks_for_a_reason_and_notes_every_look(study: ReaderStudy, cora: User, noon: datetime) -> None:
    for reason in ("", "because", "a" + " " * 30 + "b"):
        with pytest.raises(StudyRefused, match="at least 20 characters"):
            view_interim_results(study, reason, actor=cora, at=noon)
    assert looks_before_closing(study) == []
    assert study.unblinded_at is None
    later = noon + timedelta(days=1)
    assert view_interim_results(study, REASON, actor=cora, at=noon)[0].accuracy.n == 7
    view_interim_results(study, "And once more, because of it.", actor=cora, at=later)
    study.refresh_from_db()
    assert study.unblinded_at == noon
    assert [(one.who, one.at, one.reason) for one in looks_before_closing(study)] == [
        ("Cora", noon, REASON),
        ("Cora", later, "And once more, because of it."),
    ]
    assert AuditEvent.objects.filter(act="study.unblinded").count() == 1
    assert verify().fault is None


@pytest.mark.parametrize("state", [StudyState.DRAFT, StudyState.FROZEN, StudyState.CLOSED])
def test_only_an_open_study_has_a_glass_to_break(study: ReaderStudy, cora: User, noon: datetime, state: str) -> None:
    """Its row is locked and read again: what a page loaded a moment before, as here, says nothing."""
    ReaderStudy.objects.filter(pk=study.pk).update(state=state)
    with pytest.raises(StudyRefused, match="Only an open study"):
        view_interim_results(study, REASON, actor=cora, at=noon)
    assert looks_before_closing(study) == []
    assert not AuditEvent.objects.filter(act="study.glass_broken").exists()


@pytest.mark.parametrize(
    ("state", "shows", "declared", "seen"),
    [
        (StudyState.OPEN, True, True, False),
        (StudyState.CLOSED, False, True, False),
        (StudyState.CLOSED, True, False, False),
        (StudyState.CLOSED, True, True, True),
        (StudyState.ANALYSED, True, True, True),
    ],
)
def test_who_sees_their_own_result(
    rita: User, noon: datetime, state: StudyState, shows: bool, declared: bool, seen: bool
) -> None:
    enrolment = enrol(make_study(rules=Rules(show_results=shows), state=state), rita)
    enrolment.declared_at = noon if declared else None
    assert may_see_results(enrolment) is seen


def test_seeing_ones_own_result_unblinds(study: ReaderStudy, rita: User, noon: datetime) -> None:
    enrolment = Enrolment.objects.get(study=closed(study), reader=rita)
    assert see_own_results(enrolment, at=noon).n == 7
    study.refresh_from_db()
    assert study.unblinded_at == noon
    assert looks_before_closing(study) == []
    see_own_results(enrolment, at=noon)
    [seen] = AuditEvent.objects.filter(act="reader.results_seen")
    assert (seen.actor, seen.subject_id) == (rita, enrolment.public_id)


# --- re-review ---


def study_missed(n_cases: int, *readers: tuple[User, int]) -> ReaderStudy:
    """Each reader misses the first so many of its cases; the key is B."""
    study = make_study("Missed", n_cases=n_cases)
    for person, n_wrong in readers:
        for place in places_of(enrol(study, person)):
            read(place, {"option": "A" if place.case.number <= n_wrong else "B"})
    return study


@pytest.fixture
def missed(rita: User, remo: User) -> ReaderStudy:
    return study_missed(10, (rita, 3), (remo, 2))


def test_missed_cases_are_chosen_by_the_stated_rate(missed: ReaderStudy) -> None:
    closed(missed)
    for percent, expected in ((100, [1, 2]), (51, [1, 2]), (50, [1, 2, 3])):
        mixture = mixture_of(missed, percent)
        assert [case.number for case in mixture.missed] == expected
        controls = {case.number for case in mixture.controls}
        assert len(controls) == len(expected)
        assert not controls & set(expected)
    assert mixture_of(missed, 100) == mixture_of(missed, 100)


def test_before_closing_nobody_knows_what_was_missed(missed: ReaderStudy, cora: User, noon: datetime) -> None:
    with pytest.raises(StudyRefused, match="Before closing"):
        send_to_rereview(missed, 100, name="Again", actor=cora, at=noon)
    assert not SamplingPlan.objects.exists()


def test_nothing_in_the_round_tells_the_two_kinds_apart(missed: ReaderStudy, cora: User, noon: datetime) -> None:
    review_round = send_to_rereview(closed(missed), 100, name="Again", actor=cora, at=noon)
    assert review_round.state == RoundState.DRAFT
    assert not Assignment.objects.exists()
    assert review_round.plan.rule == "rereview-1"
    rows = list(SampledQuestion.objects.filter(plan=review_round.plan).order_by("position"))
    assert len(rows) == 4
    assert {row.stratum for row in rows} == {"all"}
    assert review_round.plan.strata == [{"stratum": "all", "n_frame": 10, "n_drawn": 4}]
    facts = AuditEvent.objects.get(act="study.rereview_made").facts
    assert facts["missed"] == [1, 2]
    assert len(facts["controls"]) == 2
    of_round = AuditEvent.objects.filter(subject_type__in=["reviewround", "samplingplan"]).values_list(
        "facts", flat=True
    )
    assert not [facts for facts in of_round if "missed" in str(facts) or "control" in str(facts)]
    missed.refresh_from_db()
    assert missed.unblinded_at == noon


def test_the_order_of_the_sample_follows_neither_kind_nor_number(
    rita: User, remo: User, cora: User, noon: datetime
) -> None:
    """Over many seeds a missed case stands in the first half as often as a control."""
    study = closed(study_missed(8, (rita, 4), (remo, 4)))
    n_first = 0
    for seed in range(40):
        ReaderStudy.objects.filter(pk=study.pk).update(seed=seed)
        study.refresh_from_db()
        review_round = send_to_rereview(study, 100, name=f"Again {seed}", actor=cora, at=noon)
        rows = SampledQuestion.objects.filter(plan=review_round.plan).order_by("position")[:4]
        numbers = [row.revision.question.number for row in rows.select_related("revision__question")]
        n_first += sum(number <= 4 for number in numbers)
    assert 60 <= n_first <= 100  # 80 expected of 160


@pytest.mark.parametrize("percent", [0, 101])
def test_rates_that_say_nothing(missed: ReaderStudy, cora: User, noon: datetime, percent: int) -> None:
    with pytest.raises(StudyRefused, match="from 1 to 100"):
        send_to_rereview(closed(missed), percent, name="Again", actor=cora, at=noon)


def test_a_round_needs_both_kinds_and_a_free_name(
    missed: ReaderStudy, study: ReaderStudy, cora: User, noon: datetime
) -> None:
    with pytest.raises(StudyRefused, match="No case has answers of 2 readers"):
        send_to_rereview(closed(study), 100, name="Again", actor=cora, at=noon)
    send_to_rereview(closed(missed), 100, name="Again", actor=cora, at=noon)
    with pytest.raises(StudyRefused, match="named “Again” exists already"):
        send_to_rereview(missed, 100, name="Again", actor=cora, at=noon)
    assert ReviewRound.objects.count() == 1


def test_where_most_were_missed_nothing_could_hide_them(rita: User, remo: User, cora: User, noon: datetime) -> None:
    study = study_missed(5, (rita, 3), (remo, 3))
    with pytest.raises(StudyRefused, match="left to mix in: 2, for 3 that were missed"):
        send_to_rereview(closed(study), 100, name="Again", actor=cora, at=noon)
    assert not ReviewRound.objects.exists()


def test_a_rate_that_no_case_reaches(rita: User, remo: User, cora: User, noon: datetime) -> None:
    study = study_missed(2, (rita, 0), (remo, 0))
    with pytest.raises(StudyRefused, match="No case was missed that often: lower the error rate"):
        send_to_rereview(closed(study), 100, name="Again", actor=cora, at=noon)


def test_the_kinds_are_told_when_the_round_has_closed(missed: ReaderStudy, cora: User, noon: datetime) -> None:
    review_round = send_to_rereview(closed(missed), 100, name="Again", actor=cora, at=noon)
    [found] = rereviews_of(missed)
    assert (found.round, found.threshold_percent, found.missed, found.controls) == (review_round, 100, [], [])
    ReviewRound.objects.update(state=RoundState.CLOSED)
    [found] = rereviews_of(missed)
    assert found.missed == [1, 2]
    assert len(found.controls) == 2

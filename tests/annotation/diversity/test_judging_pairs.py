"""Pairs drawn over the range of similarity, judged by two people blind, and the threshold that a person sets."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries

from annotation.enums import KeySource, Role
from annotation.management.base import ShownProgress
from annotation.models import (
    Assignment,
    AuditEvent,
    Embedding,
    Job,
    PairJudgement,
    PairTrial,
    QuestionBank,
    Revision,
    SeenKey,
    User,
)
from annotation.questionbank.bank_life import check_unused
from annotation.questionbank.kernels.entries import BankRefused
from annotation.questionbank.kernels.rules import RULES
from annotation.review.assigning import who_knows_keys
from annotation.review.onlookers import revisions_in_pairs_of
from annotation.statistics.kernels.intervals import wilson
from annotation.validators.embedded_questions import compare_embedded
from annotation.validators.judging_pairs import (
    begin_trial,
    curve_of,
    end_trial,
    judge_pair,
    next_pair,
    set_threshold,
    trials_of,
)
from annotation.validators.kernels.near_vectors import TwiceJudged, Vectors, drawn_pairs, shares_of, threshold_curve
from annotation.validators.vector_sources import EmbeddingRefused
from tests.annotation.diversity.judged import judge_all, trial_of, with_vectors
from tests.annotation.model_calls.simulated_calls import NOON
from tests.annotation.review.cases import make_bank, make_revisions, make_round
from tests.conftest import make_person
from tests.jobs import worked
from tests.refusals import refuses


# --- kernels ---
def unit(n: int, seed: int = 2) -> Vectors:
    vectors = np.random.default_rng(seed).standard_normal((n, 6)) + 0.4
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def test_pairs_are_spread_over_the_range_by_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.validators.kernels.near_vectors.ROWS", 16)
    monkeypatch.setattr("annotation.validators.kernels.near_vectors.COLUMNS", 32)
    vectors = unit(90)
    found = drawn_pairs(vectors, 100, seed=1)
    assert len({(one.first, one.second) for one in found}) == 100
    assert all(one.first < one.second for one in found)
    exact = [float(vectors[one.first] @ vectors[one.second]) for one in found]
    np.testing.assert_allclose([one.similarity for one in found], exact, atol=1e-5)
    everything = (vectors @ vectors.T)[np.triu_indices(90, 1)]
    low, high = everything.min(), everything.max()
    bands = Counter(min(9, int(10 * (one.similarity - low) / (high - low))) for one in found)
    assert min(bands[band] for band in range(2, 9)) >= 8
    assert found == drawn_pairs(vectors, 100, seed=1) != drawn_pairs(vectors, 100, seed=2)
    assert [one.similarity for one in found] != sorted(one.similarity for one in found)


def test_each_pair_of_a_band_has_the_same_chance() -> None:
    """Four vectors, six pairs: over many seeds the two of one band come equally often."""
    angles = np.array([0, 0.1, 1.2, 1.3])
    vectors = np.stack((np.cos(angles), np.sin(angles)), axis=1).astype(np.float32)
    found = Counter((one.first, one.second) for seed in range(300) for one in drawn_pairs(vectors, 1, seed=seed))
    assert set(found) == {(0, 1), (2, 3)}
    assert abs(found[0, 1] - 150) < 45
    assert len(drawn_pairs(unit(5), 100, seed=1)) == 10, "few are all drawn"
    assert drawn_pairs(unit(1), 100, seed=1) == []
    assert shares_of(np.array([50, 1, 0, 50]), 11) == [5, 1, 0, 5]


def test_the_curve_counts_by_band_and_says_what_a_threshold_leaves() -> None:
    at = [0, *((n + 0.5) / 100 for n in range(100)), 1]
    pairs = [TwiceJudged(one, first=one >= 0.5, second=one >= 0.6) for one in at]
    curve = threshold_curve(pairs)
    assert (curve.n, curve.n_same, curve.n_split) == (102, 41, 10)
    fifth = curve.bands[5]
    assert (fifth.first.count, fifth.second.count, fifth.both.count, fifth.both.n) == (10, 0, 0, 10)
    assert fifth.both.ci95 == wilson(0, 10)
    assert [(band.n_missed, band.n_wrong) for band in curve.bands[4:8]] == [(0, 10), (0, 0), (0, 0), (10, 0)]
    assert curve.kappa.value == pytest.approx(0.799, abs=0.01)
    assert curve.kappa.ci95 is not None
    assert len(curve.marks) == 10
    assert threshold_curve([]).bands == []
    [only] = threshold_curve(pairs[:1]).bands
    assert (only.first.n, only.both.count) == (1, 0)


# --- acts ---
@pytest.fixture
def bank(db: None) -> QuestionBank:
    made = make_bank("Paired")
    make_revisions(made, {n: {} for n in range(1, 21)})
    return made


@pytest.fixture
def embedding(bank: QuestionBank) -> Embedding:
    return with_vectors(bank)


@pytest.fixture
def carl(db: None) -> User:
    return make_person("Carl", Role.COORDINATOR)


@pytest.fixture
def trial(bank: QuestionBank, embedding: Embedding, cora: User, carl: User) -> PairTrial:
    return trial_of(bank, embedding, cora, carl)


def test_a_hundred_pairs_are_drawn_in_the_background(
    bank: QuestionBank, embedding: Embedding, cora: User, carl: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.jobs.running.send", lambda _job: None)
    made = begin_trial(bank, embedding, (cora, carl), seed=7, actor=cora, at=NOON)
    job = worked(Job.objects.get(kind="draw_pairs"), at=NOON)
    assert (job.state, made.pairs.count()) == ("succeeded", 100)
    assert AuditEvent.objects.get(act="pairs.begun").facts["seed"] == 7
    with pytest.raises(BankRefused, match="judge pairs"):
        check_unused(bank)


def test_who_cannot_judge_is_refused(
    bank: QuestionBank, embedding: Embedding, cora: User, carl: User, rita: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*judges: User) -> str:
        with pytest.raises(EmbeddingRefused) as caught:
            begin_trial(bank, embedding, judges, seed=1, actor=cora, at=NOON)
        return caught.value.code

    assert refused(cora, cora) == "one_judge"
    assert refused(cora, make_person("Olga", Role.READER)) == "no_judge"
    monkeypatch.setattr("annotation.validators.judging_pairs.reads_in_bank", lambda *_of: "Study")
    assert refused(cora, carl) == "reads_them"
    monkeypatch.undo()
    make_revisions(bank, {30: {}})
    assert refused(cora, carl) == "no_vectors"
    assert not PairTrial.objects.exists()


def test_the_first_word_stays_and_others_have_none(trial: PairTrial, cora: User, ada: User) -> None:
    for is_same in (True, False):
        judge_pair(trial, 1, is_same=is_same, actor=cora, at=NOON)
    assert PairJudgement.objects.get().is_same
    assert AuditEvent.objects.get(act="pair.judged").facts == {"number": 1}
    for number, person in ((1, ada), (999, cora)):
        with pytest.raises(EmbeddingRefused):
            judge_pair(trial, number, is_same=True, actor=person, at=NOON)
    following = next_pair(trial, cora)
    assert following is not None
    assert following.number == 2


def test_a_pair_is_neither_shown_to_nor_judged_by_who_reviews_one_of_its_questions_by_now(
    trial: PairTrial, cora: User
) -> None:
    shown = next_pair(trial, cora)
    assert shown is not None
    review_round = make_round(cora, name="Later", n_questions=1)
    Assignment.objects.filter(round=review_round).update(revision=shown.second)
    with refuses(EmbeddingRefused, "no_pair"):
        judge_pair(trial, shown.number, is_same=True, actor=cora, at=NOON)
    assert not PairJudgement.objects.exists()
    following = next_pair(trial, cora)
    assert following is not None
    assert shown.second_id not in (following.first_id, following.second_id)


def test_the_threshold_is_set_by_a_person_once_both_are_done(trial: PairTrial, cora: User, carl: User) -> None:
    judge_all(trial, cora, same_from=0.6)
    with pytest.raises(EmbeddingRefused, match="both people"):
        set_threshold(trial, 0.7, "there they part", actor=cora, at=NOON)
    assert curve_of(trial) is None
    judge_all(trial, carl, same_from=0.7)
    for threshold, reason in ((0.0, "x"), (1.2, "x"), (float("nan"), "x"), (0.7, " "), (0.7, "x" * 501)):
        with pytest.raises(EmbeddingRefused):
            set_threshold(trial, threshold, reason, actor=cora, at=NOON)
    assert Embedding.objects.get().threshold is None
    set_threshold(trial, 0.7, "there they part", actor=cora, at=NOON)
    assert (Embedding.objects.get().threshold, Embedding.objects.get().threshold_set_by) == (0.7, cora)
    facts = AuditEvent.objects.get(act="embedding.threshold_set").facts
    assert (facts["threshold"], facts["before"], facts["reason"]) == (0.7, None, "there they part")


@pytest.mark.logs("pairs.ended")
def test_judging_ends_with_the_pairs_that_both_have_judged(trial: PairTrial, cora: User, carl: User) -> None:
    """Carl has left: what Cora saw of both is shown, and nothing of these pairs is hidden from anybody any more."""
    judge_all(trial, cora, same_from=0.6)
    for pair in trial.pairs.all()[:40]:
        judge_pair(trial, pair.number, is_same=pair.similarity >= 0.7, actor=carl, at=NOON)
    assert revisions_in_pairs_of(carl).exists()
    assert end_trial(trial, actor=cora, at=NOON) == 40
    assert end_trial(trial, actor=carl, at=NOON) == 40  # twice: the first stays
    trial.refresh_from_db()
    assert (trial.ended_by, AuditEvent.objects.get(act="pairs.ended").facts) == (cora, {"judged_by_both": 40})
    assert not revisions_in_pairs_of(carl).exists()
    assert next_pair(trial, carl) is None
    with refuses(EmbeddingRefused, "ended"):
        judge_pair(trial, 99, is_same=True, actor=carl, at=NOON)
    curve = curve_of(trial)
    assert curve is not None
    assert curve.n == 40
    set_threshold(trial, 0.7, "there they part", actor=cora, at=NOON)


def test_what_both_have_judged_is_not_ended_and_nothing_is_no_curve(trial: PairTrial, cora: User, carl: User) -> None:
    other = trial_of(trial.bank, trial.embedding, cora, carl)
    assert end_trial(other, actor=cora, at=NOON) == 0
    other.refresh_from_db()
    assert curve_of(other) is None
    with refuses(EmbeddingRefused, "not_judged"):
        set_threshold(other, 0.7, "a guess", actor=cora, at=NOON)
    judge_all(trial, cora, same_from=0.6)
    judge_all(trial, carl, same_from=0.7)
    with refuses(EmbeddingRefused, "complete"):
        end_trial(trial, actor=cora, at=NOON)


# --- pages ---
def page_of(trial: PairTrial, name: str = "pair-trial") -> str:
    return reverse(name, args=[trial.bank.slug, trial.public_id])


def test_nobody_sees_similarities_or_what_the_other_said_before_both_are_done(
    client: Client, trial: PairTrial, cora: User, carl: User
) -> None:
    judge_all(trial, cora, same_from=0.6)
    omni = make_person("Omni", Role.COORDINATOR)
    for person in (cora, carl, omni):
        client.force_login(person)
        answer = client.get(page_of(trial))
        text = answer.content.decode()
        assert answer.context["curve"] is None
        assert "Kappa" not in text
        assert not any(f"{pair.similarity:.2f}" in text for pair in trial.pairs.all())
        assert ("the same question?" in text) == (person == carl)
        assert client.post(page_of(trial, "pair-threshold"), {"threshold": "0.5", "reason": "x"}).status_code == 302
    assert Embedding.objects.get().threshold is None


def test_two_people_judge_and_the_curve_is_shown(
    client: Client, trial: PairTrial, cora: User, carl: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(cora)
    first = client.get(page_of(trial)).context["pair"]
    client.post(page_of(trial, "pair-judge"), {"number": first.number, "said": "same"})
    client.post(page_of(trial, "pair-judge"), {"number": first.number + 1, "said": "perhaps"})
    assert [one.is_same for one in PairJudgement.objects.all()] == [True]
    judge_all(trial, cora, same_from=0.6)
    judge_all(trial, carl, same_from=0.7)
    with django_assert_max_num_queries(20):
        text = client.get(page_of(trial)).content.decode()
    assert "judged 100 pairs" in text
    assert "Kappa" in text
    answer = client.post(page_of(trial, "pair-threshold"), {"threshold": "0.65", "reason": "they part"}, follow=True)
    assert "The threshold is set" in answer.content.decode()
    assert Embedding.objects.get().threshold == 0.65


def test_the_page_asks_before_judging_is_ended(client: Client, trial: PairTrial, cora: User, carl: User) -> None:
    judge_all(trial, cora, same_from=0.6)
    judge_pair(trial, 1, is_same=True, actor=carl, at=NOON)
    client.force_login(cora)
    asked = client.post(page_of(trial, "pair-end"))
    assert (asked.status_code, PairTrial.objects.get().ended_at) == (200, None)
    assert "both people have judged: 1 of 100. The curve will be of these." in asked.content.decode()
    text = client.post(page_of(trial, "pair-end"), {"confirmed": "yes"}, follow=True).content.decode()
    assert "Cora ended judging on" in text
    assert "judged 1 pair:" in text
    assert "the same question?" not in text
    again = client.post(page_of(trial, "pair-end"), {"confirmed": "yes"}, follow=True).content.decode()
    assert "both have judged: 1." in again


def test_the_form_begins_and_refuses(
    client: Client, bank: QuestionBank, embedding: Embedding, cora: User, carl: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.jobs.running.send", lambda _job: None)
    client.force_login(cora)
    page = reverse("pair-trials", args=[bank.slug])
    sent = {"embedding": embedding.pk, "first": cora.pk, "second": cora.pk, "seed": 3}
    assert client.post(page, sent).status_code == 422
    assert client.post(page, sent | {"second": carl.pk}).status_code == 302
    assert client.get(page).context["trials"][0].trial.seed == 3


def test_the_list_says_how_far_each_trial_is(
    client: Client, trial: PairTrial, bank: QuestionBank, embedding: Embedding, cora: User, carl: User
) -> None:
    drawn_later = PairTrial.objects.create(
        bank=bank, embedding=embedding, seed=9, first_judge=cora, second_judge=carl, created_by=cora, created_at=NOON
    )
    judge_pair(trial, 1, is_same=True, actor=cora, at=NOON)
    client.force_login(cora)
    page = reverse("pair-trials", args=[bank.slug])

    def states() -> dict[int, str]:
        text = client.get(page).content.decode()
        states = re.findall(r'class="tag[^"]*">([^<]+)</span>', text[text.index("<tbody>") :])
        return dict(zip((one.trial.pk for one in trials_of(bank)), states, strict=True))

    assert states() == {trial.pk: "in progress", drawn_later.pk: "pairs are drawn"}
    assert {(one.n_first, one.n_second) for one in trials_of(bank)} == {(0, 0), (1, 0)}
    for judge in (cora, carl):
        judge_all(trial, judge, same_from=1.1)
    assert states()[trial.pk] == "complete"


def test_a_reviewer_judges_and_counts_as_having_seen_both_questions(
    client: Client, bank: QuestionBank, embedding: Embedding, cora: User
) -> None:
    """Found from home; without keys, curve or acts of coordinators. What was shown cannot be reviewed by her."""
    rita = make_person("Rita", Role.REVIEWER)
    trial = trial_of(bank, embedding, cora, rita)
    client.force_login(rita)
    assert page_of(trial) in client.get(reverse("home")).content.decode()
    answer = client.get(page_of(trial))
    pair, text = answer.context["pair"], answer.content.decode()
    assert "the same question?" in text
    assert '<html lang="en" class="dark">' in text, "nothing flashes white before a reviewer"
    assert not any(words in text for words in ("End judging", 'near-duplicates/pairs/"', "Kappa"))
    seen = SeenKey.objects.filter(person=rita, source=KeySource.PAIRS)
    assert set(seen.values_list("question", flat=True)) == {pair.first.question_id, pair.second.question_id}
    found = list(who_knows_keys([rita.pk], [pair.first.question_id]))
    assert [one.reason for one in found] == ["Rita has seen its stem and options (judged pairs)."]
    assert client.post(page_of(trial, "pair-judge"), {"number": pair.number, "said": "same"}).status_code == 302
    judge_all(trial, rita, same_from=0.6)
    judge_all(trial, cora, same_from=0.7)
    answer = client.get(page_of(trial))
    assert answer.context["curve"] is None
    assert "No pair is left for you" in answer.content.decode()
    assert page_of(trial) not in client.get(reverse("home")).content.decode()
    for name in ("pair-end", "pair-threshold"):
        assert client.post(page_of(trial, name)).status_code == 403
    client.force_login(make_person("Remo", Role.REVIEWER))
    assert client.get(page_of(trial)).status_code == 404


def test_another_coordinator_judges_nothing(client: Client, trial: PairTrial) -> None:
    client.force_login(make_person("Omni", Role.COORDINATOR))
    assert client.post(page_of(trial, "pair-judge"), {"number": 1, "said": "same"}).status_code == 403
    assert not PairJudgement.objects.exists()


def test_who_reads_in_a_study_under_way_is_refused(
    client: Client, trial: PairTrial, cora: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.validators.validator_plans.reads_in_bank", lambda *_of: "Study")
    client.force_login(cora)
    assert client.get(page_of(trial)).status_code == 403
    assert client.post(page_of(trial, "pair-judge"), {"number": 1, "said": "same"}).status_code == 403


def test_a_judge_hears_nothing_of_similarity_before_all_pairs_are_judged(
    client: Client, cora: User, ada: User, db: None
) -> None:
    """A threshold of before has made findings: on no page, in no filter, and not in the history of the question."""
    bank = make_bank("Judged")
    make_revisions(bank, {n: {} for n in range(1, 7)})
    embedding = with_vectors(bank)
    Embedding.objects.update(threshold=0.05)
    embedding.refresh_from_db()
    omni = make_person("Omni", Role.COORDINATOR)
    compare_embedded(bank, embedding, actor=None, at=NOON, progress=ShownProgress(None))
    trial = trial_of(bank, embedding, cora, omni)
    judged = {one.first_id for one in trial.pairs.all()} | {one.second_id for one in trial.pairs.all()}
    assert judged == set(Revision.objects.in_bank(bank).values_list("pk", flat=True))
    pages = [
        reverse("bank-near-duplicates", args=[bank.slug]),
        reverse("question", args=[bank.slug, 2]),
        reverse("bank", args=[bank.slug]) + "?finding=near_embedded",
    ]

    def told(person: User) -> list[bool]:
        client.force_login(person)
        texts = [client.get(page).content.decode() for page in pages]
        return ["similar to question" in texts[0], "similar to question" in texts[1], "Which finding" in texts[2]]

    nora = make_person("Nora", Role.COORDINATOR)
    assert told(nora) == [True, True, True]
    client.force_login(cora)
    assert RULES["near_embedded"].label not in client.get(pages[1]).content.decode()
    assert told(cora) == [False, False, False]
    judge_all(trial, cora, same_from=0.5)
    assert told(cora) == [True, True, True]
    assert told(omni) == [False, False, False]

"""A question whose twin stands in a public bank is named, on its page and on that of the bank, and to whom not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries

from annotation.jobs import running
from annotation.models import (
    AuditEvent,
    Finding,
    Gate,
    Job,
    Question,
    QuestionBank,
    Release,
    ReleasedQuestion,
    Revision,
    User,
)
from annotation.questionbank.bank_life import change_terms
from annotation.questionbank.checking import QualityRefused, check_revisions, dismiss
from annotation.questionbank.duplicates import check_duplicates, check_released, check_twins, find_released
from annotation.questionbank.kernels.neighbours import find_neighbours, find_twins
from tests.annotation.exports.test_releases import chest, wanted  # noqa: F401  # a fixture
from tests.annotation.quality.test_duplicates import by_brute_force, texts_of
from tests.annotation.review.cases import make_bank, make_revisions, reviewing
from tests.commands import ends_with_2, printed
from tests.jobs import result_of
from tests.pages import markup
from tests.refusals import refuses

TWIN = "Which of these tubes is seen on the frontal radiograph of this patient"
OTHER = "On which side does the fracture of the clavicle lie"


# --- the kernel ---
@pytest.mark.parametrize(("n_own", "threshold"), [(300, 0.9), (517, 0.6), (899, 0.8), (1, 0.6)])
def test_twins_are_those_of_brute_force(n_own: int, threshold: float) -> None:
    texts = texts_of(900, 3)
    found, pairs = find_twins(texts[:n_own], texts[n_own:], threshold), by_brute_force(texts)[:n_own, n_own:]
    similar = pairs >= threshold
    assert found.n_similar.tolist() == similar.sum(axis=1).tolist()
    assert found.nearest.tolist() == np.where(similar.any(axis=1), pairs.argmax(axis=1), -1).tolist()
    np.testing.assert_allclose(found.similarity, np.where(similar.any(axis=1), pairs.max(axis=1), 0), atol=2e-6)


def test_equal_questions_of_both_sides_count_each_and_pairs_of_one_side_are_none() -> None:
    alone = find_twins(["left effusion", "Left effusion", "heart"], ["rib fracture", "rib fracture"])
    assert alone.nearest.tolist() == [-1, -1, -1]
    assert find_neighbours(["left effusion", "Left effusion"]).n_pairs == 1
    for own, others in (([], ["a"]), (["a"], []), (["..."], ["?"]), ([], [])):
        assert find_twins(own, others).nearest.tolist() == [-1] * len(own)
    found = find_twins(["heart", "left effusion", "Left effusion"], ["rib", "left effusion", "left, effusion"])
    assert found.nearest.tolist() == [-1, 1, 1]
    assert found.n_similar.tolist() == [0, 2, 2]
    assert [(one.first, one.second) for one in found.around if one.similarity >= 0.9] == [(1, 1)]


# --- the act ---
@pytest.fixture
def bank(db: None) -> QuestionBank:
    """Question 2 of three has a twin in a public bank; in another bank, which is not public, 3 has one."""
    private, public, other = make_bank("Private"), make_bank("Public"), make_bank("Other")
    make_revisions(private, {1: {}, 2: {"stem": TWIN}, 3: {"stem": OTHER}})
    make_revisions(public, {1: {"stem": "Is the heart enlarged, and by how much?"}, 2: {"stem": f"{TWIN}?"}})
    make_revisions(other, {1: {"stem": OTHER}})
    QuestionBank.objects.filter(pk=public.pk).update(is_public=True)
    return private


def twins() -> dict[int, tuple[str, int]]:
    rows = Finding.objects.filter(rule="public_twin").select_related("other__question__bank", "revision__question")
    return {
        one.revision.question.number: (one.other.question.bank.name, one.other.question.number)
        for one in rows
        if one.other
    }


def test_a_question_with_a_public_twin_gets_a_finding_that_names_it(bank: QuestionBank, noon: datetime) -> None:
    told = check_twins(bank, actor=None, at=noon)
    assert twins() == {2: ("Public", 2)}
    assert (told.n_questions, told.n_public, told.banks, told.n_twins, told.n_pairs) == (3, 2, ["Public"], 1, 1)
    assert Finding.objects.get().detail == (
        "Stem and options are 1.00 similar to question 2 of the public bank “Public”. "
        "A model may have learned it there: leave it out of what is to test models, or reword."
    )
    event = AuditEvent.objects.get(act="bank.compared")
    assert (event.facts["across"], event.facts["pairs"]) == (["Public"], 1)


def test_a_second_run_changes_nothing_and_other_checks_leave_it(bank: QuestionBank, noon: datetime) -> None:
    check_twins(bank, actor=None, at=noon)
    before, n_events = list(Finding.objects.values()), AuditEvent.objects.count()
    check_twins(bank, actor=None, at=noon + timedelta(days=1))
    assert (list(Finding.objects.values()), AuditEvent.objects.count()) == (before, n_events)
    check_revisions(bank, Revision.objects.in_bank(bank).current(), actor=None, at=noon)
    check_duplicates(bank, actor=None, at=noon)
    assert twins() == {2: ("Public", 2)}


def test_a_bank_that_is_public_itself_is_refused(bank: QuestionBank, noon: datetime) -> None:
    with pytest.raises(QualityRefused, match="public itself"):
        check_twins(QuestionBank.objects.get(name="Public"), actor=None, at=noon)
    QuestionBank.objects.update(is_public=False)
    with pytest.raises(QualityRefused, match="No bank is marked as public"):
        check_twins(bank, actor=None, at=noon)
    with pytest.raises(QualityRefused, match=r"from 0\.5 to 1"):
        check_twins(bank, actor=None, at=noon, threshold=0.2)
    assert not Finding.objects.exists()


def test_marking_a_bank_is_an_act_and_takes_stale_twins_back(bank: QuestionBank, cora: User, noon: datetime) -> None:
    check_twins(bank, actor=None, at=noon)
    public = QuestionBank.objects.get(name="Public")
    assert not change_terms(public, terms="", holds_quarters=False, is_public=True, actor=cora, at=noon)
    assert not change_terms(public, terms="", holds_quarters=False, actor=cora, at=noon)
    assert change_terms(public, terms="", holds_quarters=False, is_public=False, actor=cora, at=noon)
    assert twins() == {}
    assert AuditEvent.objects.get(act="bank.terms_changed").facts["is_public"] is False
    bank.refresh_from_db()
    assert bank.twins_sought_at is None


def test_a_dismissed_twin_stays_dismissed(bank: QuestionBank, cora: User, noon: datetime) -> None:
    check_twins(bank, actor=None, at=noon)
    dismiss(Finding.objects.get(), reason="another exam", actor=cora, at=noon)
    check_twins(bank, actor=None, at=noon)
    assert Finding.objects.get().dismiss_reason == "another exam"


# --- command ---
def test_the_command_tells_the_twins(bank: QuestionBank) -> None:
    told = json.loads(printed("check_questions", "--bank", "Private", "--across", "--json"))
    assert (told["public_twins"]["n_twins"], told["near_duplicates"]) == (1, None)
    words = "Twins in public banks (Public) at 0.9: 1 questions, 1 pairs."
    assert words in printed("check_questions", "--bank", "Private", "--across")
    with ends_with_2("public itself"):
        printed("check_questions", "--bank", "Public", "--across")


# --- pages ---
def page_of(bank: QuestionBank, query: str = "") -> str:
    return reverse("bank-near-duplicates", args=[bank.slug]) + query


def test_the_page_links_both_questions(
    coordinator: Client,
    bank: QuestionBank,
    noon: datetime,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    check_twins(bank, actor=None, at=noon)
    with django_assert_max_num_queries(20):
        text = coordinator.get(page_of(bank)).content.decode()
    for named in (("private", 2), ("public", 2)):
        assert reverse("question", args=named) in text
    near = coordinator.get(page_of(bank, "?rule=near_duplicate")).content.decode()
    assert "public_twin" not in near.split("<tbody>")[-1]
    own = coordinator.get(reverse("question", args=["private", 2])).content.decode()
    assert reverse("question", args=["public", 2]) in own


def test_the_button_compares_in_the_background(
    coordinator: Client, cora: User, bank: QuestionBank, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.jobs.running.send", lambda _job: None)
    for _again in range(2):
        answer = coordinator.post(reverse("bank-compare", args=[bank.slug]), {"across": "yes"})
    job = Job.objects.get()
    assert answer.headers["Location"] == reverse("job", args=[job.public_id]), "where its progress is, and Cancel"
    told = result_of(job, at=noon)
    assert (told["n_twins"], told["page"]) == (1, page_of(bank))
    assert AuditEvent.objects.get(act="bank.compared").actor == cora
    public = QuestionBank.objects.get(name="Public")
    answer = coordinator.post(reverse("bank-compare", args=[public.slug]), {"across": "yes"}, follow=True)
    assert "public itself" in answer.content.decode()
    assert Job.objects.count() == 1


@pytest.mark.parametrize("side", ["Private", "Public"])
def test_who_reviews_one_of_the_two_hears_nothing_of_the_pair(
    client: Client, bank: QuestionBank, noon: datetime, side: str
) -> None:
    check_twins(bank, actor=None, at=noon)
    olga, _asked = reviewing(QuestionBank.objects.get(name=side), 2)
    client.force_login(olga)
    assert "1.00 similar" not in client.get(page_of(bank)).content.decode()
    assert "1.00 similar" not in client.get(reverse("question", args=["private", 2])).content.decode()


@pytest.mark.parametrize(("read_in", "status"), [("Private", 403), ("Public", 200)])
def test_who_reads_in_a_study_under_way_hears_nothing_of_the_pair(
    coordinator: Client,
    bank: QuestionBank,
    noon: datetime,
    monkeypatch: pytest.MonkeyPatch,
    read_in: str,
    status: int,
) -> None:
    check_twins(bank, actor=None, at=noon)
    read = QuestionBank.objects.get(name=read_in).pk
    for place in ("annotation.validators.validator_plans", "annotation.validators.embedded_questions"):
        monkeypatch.setattr(f"{place}.reads_in_bank", lambda _person, pk: "Study" if pk == read else "")
    answer = coordinator.get(page_of(bank))
    assert answer.status_code == status
    assert "1.00 similar" not in answer.content.decode()


# --- a question that is nearly the same as a released one is named, and counted where its bank is to be released ---
def released(ours: QuestionBank, numbers: Sequence[int], at: datetime) -> None:
    gate = Gate.objects.create(bank=ours, number=1, name="Gate", parts=["identifiers"], set_at=at)
    made = Release.objects.create(bank=ours, gate=gate, name="First", shares={}, seed=1, counts={}, released_at=at)
    for revision in Revision.objects.filter(bank=ours, question__number__in=numbers):
        ReleasedQuestion.objects.create(release=made, revision=revision, split="train")


def near(ours: QuestionBank) -> dict[int, tuple[str, int]]:
    rows = Finding.objects.filter(bank=ours, rule="released_twin").select_related("other__bank", "other__question")
    return {one.revision.question.number: (one.other.bank.name, one.other.question.number) for one in rows if one.other}


@pytest.fixture
def ours(db: None, noon: datetime) -> QuestionBank:
    """Question 2 has a twin that another bank released, 3 has one that it did not; of two like ones 4 was released."""
    mine, other = make_bank("Mine"), make_bank("Other")
    make_revisions(mine, {1: {}, 2: {"stem": TWIN}, 3: {"stem": OTHER}, 4: {"stem": "A"}, 5: {"stem": "a."}})
    make_revisions(other, {1: {"stem": f"{TWIN}?"}, 2: {"stem": OTHER}})
    released(mine, [4], noon)
    released(other, [1], noon)
    return mine


def test_only_what_was_released_counts_and_not_the_question_itself(ours: QuestionBank, noon: datetime) -> None:
    result = check_released(ours, actor=None, at=noon)
    assert near(ours) == {2: ("Other", 1), 5: ("Mine", 4)}
    assert (result.n_questions, result.n_released, result.n_twins, result.threshold) == (5, 2, 2, 0.9)


def test_wordings_that_nothing_was_compared_with_are_not_counted(ours: QuestionBank, noon: datetime) -> None:
    for revision in Revision.objects.filter(bank=ours).exclude(question__number=4):
        ReleasedQuestion.objects.create(release=ours.releases.get(), revision=revision, split="test")
    assert check_released(ours, actor=None, at=noon).n_released == 1, "those of the other bank alone"


def test_what_is_like_no_released_one_any_more_is_no_finding(ours: QuestionBank, noon: datetime) -> None:
    check_released(ours, actor=None, at=noon)
    ReleasedQuestion.objects.filter(release__bank__name="Other").delete()
    check_released(ours, actor=None, at=noon)
    assert near(ours) == {5: ("Mine", 4)}


def test_looking_stores_nothing_and_without_a_release_there_is_nothing_to_look_at(
    ours: QuestionBank, noon: datetime
) -> None:
    result, _own, made = find_released(ours)
    assert (result.n_twins, len(made), Finding.objects.count()) == (2, 2, 0)
    ReleasedQuestion.objects.all().delete()
    Release.objects.all().delete()
    with refuses(QualityRefused, "none_released"):
        check_released(ours, actor=None, at=noon)


def test_the_page_asks_for_it_and_lists_what_was_found(ours: QuestionBank, coordinator: Client) -> None:
    coordinator.post(reverse("bank-compare", args=[ours.slug]), {"released": "yes"})
    running.run(Job.objects.get().public_id, clock=timezone.now)
    page = markup(coordinator.get(reverse("bank-near-duplicates", args=[ours.slug]) + "?rule=released_twin"))
    assert "which “Other” released" in page
    assert reverse("question", args=["other", 1]) in page


def test_the_dry_run_counts_them_and_says_how_many_it_compared(
    chest: QuestionBank,  # noqa: F811
    coordinator: Client,
    noon: datetime,
) -> None:
    other = make_bank("Other")
    mine = Revision.objects.in_bank(chest).get(question__number=1)
    make_revisions(other, {1: {"stem": mine.stem, "options": mine.options}})
    released(other, [1], noon)
    asked = {"name": "First", "train": 50, "valid": 0, "test": 0, "private": 50, "seed": 1}
    address = reverse("bank-releases", args=[chest.slug])
    assert "Not compared with the questions of other releases." in markup(coordinator.post(address, asked))

    dry = printed("release_benchmark", bank="Chest", name="x", dry_run=True, verbosity=0)
    told = json.loads(dry)["near_duplicates_of_releases"]
    assert (told["n"], told["n_compared"], told["n_released"], told["threshold"]) == (1, 8, 1, 0.9)
    assert not Finding.objects.filter(rule="released_twin").exists()

    check_released(chest, actor=None, at=noon)
    Release.objects.update(released_at=noon + timedelta(days=1))
    page = markup(coordinator.post(address, asked))
    assert "1 of 8 are nearly the same as a question of another release" in page
    assert "(similarity 0.9 or above). Compared with 1 released wordings" in page
    assert "1 release came after." in page
    assert Question.objects.filter(bank=chest).count() == 8, "it is no gate: nothing is left out"

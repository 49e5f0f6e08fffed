"""A classifier of a folder scores questions; thresholds that a labelled set shows make findings of its scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.jobs import running
from annotation.management.base import ShownProgress
from annotation.models import (
    AnswerKey,
    AuditEvent,
    Classifier,
    ClassScore,
    ClassThreshold,
    Finding,
    Job,
    LabelledSet,
    Question,
    QuestionBank,
    Revision,
    User,
)
from annotation.questionbank.checking import check_revisions, dismiss
from annotation.questionbank.kernels.question_checks import PartState
from annotation.questionbank.validity import count_parts, part_is, parts_of_question
from annotation.refusals import Refused
from annotation.validators.classifying import ask_for_scores, classifier_named, score_questions, set_threshold
from annotation.validators.kernels.model_folder import read_classifier_folder
from annotation.validators.kernels.onnx_model import TextClassifier
from annotation.validators.kernels.validator_exam import at_threshold, curve_of, part_of_class
from annotation.validators.labelled_sets import store_labelled
from tests.annotation.diversity.bert_model import refuse_network
from tests.annotation.model_calls.simulated_calls import NOON, make_permission
from tests.annotation.review.cases import make_bank, make_revisions
from tests.annotation.validators.tiny_classifier import LABELS, classifier_folder
from tests.annotation.validators.validated import judged
from tests.commands import ends_with_2, printed

QUIET = ShownProgress(None)
STEMS = ["What did Quill see", "What does this elderly one have", "What is seen"]
SET = b"text,label\nquill,PHI\nsmith,PHI\nsmith smith,PHI\nsmith what,\nwhat,\nelderly,bias\nquill elderly,PHI;bias\n"


def sigmoid(x: float) -> float:
    return 1 / (1 + float(np.exp(-x)))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return classifier_folder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def named(tiny: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In the setting; and whoever opens a socket fails."""
    settings.CLASSIFIER_FOLDERS = {"tiny": tiny}
    refuse_network(monkeypatch)
    monkeypatch.setattr("annotation.jobs.running.send", lambda _job: None)
    return tiny


@pytest.fixture
def bank(db: None) -> QuestionBank:
    """One with a name, one with “elderly”, one without either; explanations say nothing."""
    made = make_bank("Classified")
    make_revisions(made, {n: {"stem": stem} for n, stem in enumerate(STEMS, start=1)})
    AnswerKey.objects.update(explanation="")
    return made


# --- the model ---
def test_probabilities_are_those_of_the_model_and_neighbours_change_nothing(tiny: Path) -> None:
    model = TextClassifier(read_classifier_folder("tiny", tiny))
    together = model.probabilities(["Quill", "what " * 5 + "elderly smith", ""])
    expected = [[sigmoid(4), sigmoid(-4)], [sigmoid(0.5), sigmoid(4)], [sigmoid(-4)] * 2]
    np.testing.assert_allclose(together, expected, atol=1e-6)
    np.testing.assert_allclose(model.probabilities(["Quill"])[0], expected[0], atol=1e-6)


def test_the_end_of_a_long_text_is_read_too(tiny: Path) -> None:
    model = TextClassifier(read_classifier_folder("tiny", tiny))
    found = model.probabilities(["what " * 100 + "quill", "what " * 100])
    np.testing.assert_allclose(found[:, 0], [sigmoid(4), sigmoid(-4)], atol=1e-6)


def test_probabilities_of_one_class_each_add_to_one(tmp_path: Path) -> None:
    folder = classifier_folder(tmp_path / "one", problem_type="single_label_classification")
    found = TextClassifier(read_classifier_folder("one", folder)).probabilities(["quill", "elderly", "what"])
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(found[:, 0], [sigmoid(8), sigmoid(-8), 0.5], atol=1e-6)


def test_other_files_are_another_classifier(tiny: Path, tmp_path: Path) -> None:
    one = classifier_folder(tmp_path / "one", problem_type="single_label_classification")
    swapped = classifier_folder(tmp_path / "two", id2label={"0": "bias", "1": "PHI"})
    prints = {read_classifier_folder("x", path).fingerprint for path in (tiny, one, swapped)}
    assert len(prints) == 3
    assert read_classifier_folder("y", tiny).fingerprint in prints


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"id2label": None}, "no classifier: it holds no config.json whose id2label"),
        ({"id2label": {"0": "PHI", "2": "bias"}}, "does not name each class once"),
        ({"id2label": {"0": "PHI", "1": "PHI"}}, "does not name each class once"),
        ({"id2label": {str(n): str(n) for n in range(51)}}, "names 51 classes; 50 at most"),
        ({"architectures": ["BertForTokenClassification"]}, "config.json says BertForTokenClassification"),
        ({"id2label": {"0": "a", "1": "b", "2": "c"}}, "with the 3 classes of config.json"),
    ],
)
def test_a_folder_that_is_no_classifier_says_why(tmp_path: Path, config: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        TextClassifier(read_classifier_folder("x", classifier_folder(tmp_path / "x", **config)))


@pytest.mark.parametrize(
    ("label", "part"),
    [
        *(("PHI", "identifiers"), ("contains_pii", "identifiers"), ("hasPHI", "identifiers"), ("Biased", "bias")),
        *(("NOT_PHI", ""), ("non-biased", ""), ("LABEL_1", ""), ("graphics", "")),
    ],
)
def test_a_class_is_known_by_its_name(label: str, part: str) -> None:
    assert part_of_class(label) == part


def test_precision_and_recall_of_a_threshold() -> None:
    scored = [(0.9, True), (0.6, False), (0.6, True), (0.2, True), (0.1, False)]
    found = at_threshold(scored, 0.6)
    assert (found.precision.count, found.precision.n, found.recall.count, found.recall.n) == (2, 3, 2, 3)
    assert found.precision.ci95 is not None
    assert at_threshold(scored, 0.95).precision.value is None, "nothing reaches it"
    curve = curve_of(scored)
    assert (curve.n, curve.n_of_class, len(curve.rows)) == (5, 3, 9)
    assert curve.lines[1].split()[0] == "0,0.0", "from 0 on all are found"
    assert len(curve.lines[0].split()) == 91, "no precision where nothing reaches the threshold"


# --- questions ---
def scored(bank: QuestionBank, content: bytes = SET) -> LabelledSet:
    classifier = classifier_named("tiny", at=NOON)
    made = store_labelled(classifier, bank, "set.csv", content, actor=None, at=NOON)
    score_questions(classifier, bank, actor=None, at=NOON, progress=QUIET)
    made.refresh_from_db()
    return made


def limit(labelled: LabelledSet, bank: QuestionBank, label: str, part: str, threshold: float = 0.5) -> ClassThreshold:
    made = set_threshold(labelled, label=label, part=part, threshold=threshold, bank=bank, actor=None, at=NOON)
    score_questions(labelled.classifier, bank, actor=None, at=NOON, progress=QUIET)
    return made


def test_scores_are_kept_with_the_hash_and_a_threshold_makes_findings(
    bank: QuestionBank, named: Path, cora: User
) -> None:
    labelled = scored(bank)
    kept = ClassScore.objects.order_by("revision__question__number").values_list("probabilities", flat=True)
    np.testing.assert_allclose(
        list(kept), [[sigmoid(4), sigmoid(-4)], [sigmoid(-4), sigmoid(4)], [sigmoid(-4)] * 2], atol=1e-5
    )
    classifier = Classifier.objects.get()
    assert (classifier.labels, classifier.fingerprint) == (
        list(LABELS),
        read_classifier_folder("tiny", named).fingerprint,
    )
    assert not Finding.objects.filter(rule__startswith="classified").exists(), "no threshold, no finding"
    made = limit(labelled, bank, "PHI", "identifiers")
    assert {name: (made.measured[name]["count"], made.measured[name]["n"]) for name in ("precision", "recall")} == {
        "precision": (4, 5),
        "recall": (4, 4),
    }
    found = Finding.objects.get(rule="classified_identifier")
    assert found.revision.question.number == 1
    assert found.detail.startswith(
        f"P(PHI) is 0.982 by the classifier tiny ({classifier.fingerprint}), at or above 0.5."
    )
    check_revisions(bank, Revision.objects.in_bank(bank).current(), actor=None, at=NOON)
    assert Finding.objects.filter(pk=found.pk).exists(), "a check of the wording leaves it alone"
    dismiss(found, reason="A bird’s.", actor=cora, at=NOON)
    limit(labelled, bank, "PHI", "identifiers", 0.01)
    again = Finding.objects.filter(rule="classified_identifier")
    assert (again.filter(dismissed_at=None).count(), again.count()) == (2, 3), "what was dismissed stays so"
    limit(labelled, bank, "PHI", "identifiers", 1)
    assert list(Finding.objects.filter(rule="classified_identifier")) == [found]
    assert AuditEvent.objects.filter(act="classifier.threshold_set").count() == 3
    assert AuditEvent.objects.filter(act="bank.classified").count() == 4


def states(bank: QuestionBank, code: str) -> list[str]:
    return [
        next(one.state for one in parts_of_question(revision) if one.part.code == code).value
        for revision in Revision.objects.in_bank(bank).current().order_by("question__number")
    ]


def test_bias_has_two_sources_and_counts_conditions_and_questions_agree(
    coordinator: Client, bank: QuestionBank, named: Path
) -> None:
    assert states(bank, "bias") == ["not_examined"] * 3
    limit(scored(bank), bank, "bias", "bias")
    text = coordinator.get(reverse("bank-validator", args=[bank.slug, "bias"])).content.decode()
    assert "P(bias) is 0.982 by the classifier tiny" in text, "it is listed with the verdicts"
    assert states(bank, "bias") == ["pass", "fail", "pass"]
    Finding.objects.filter(rule="classified_bias").update(dismissed_at=NOON)
    assert states(bank, "bias") == ["pass"] * 3
    Finding.objects.filter(rule="classified_bias").update(dismissed_at=None)
    make_permission(bank)
    judged(bank, "fail", "pass", "undecided", validator="bias")
    assert states(bank, "bias") == ["fail", "fail", "undecided"]
    current = Revision.objects.in_bank(bank).current()
    count = next(one for one in count_parts(bank, Question.objects.none()) if one.part.code == "bias")
    by_state = {state.value: current.filter(part_is(bank, "bias", state)).count() for state in PartState}
    assert by_state == {"pass": 0, "fail": 2, "undecided": 1, "not_examined": 0}
    assert {state.value: count.counts.get(state, 0) for state in PartState} == by_state


def test_only_what_has_no_score_is_asked_and_the_texts_of_a_labelled_set_go(bank: QuestionBank, named: Path) -> None:
    labelled = scored(bank)
    assert (labelled.texts, len(labelled.probabilities)) == (None, 7)
    classifier = labelled.classifier
    assert score_questions(classifier, bank, actor=None, at=NOON, progress=QUIET).n_scored == 0
    store_labelled(classifier, bank, "one.csv", SET, actor=None, at=NOON)
    store_labelled(classifier, bank, "two.csv", b"question;label\n1;PHI\n3;\n", actor=None, at=NOON)
    waiting = LabelledSet.objects.get(texts__isnull=False)
    assert waiting.name == "two.csv"
    assert waiting.texts is not None
    assert waiting.texts[0].startswith("What did Quill see\n")


def test_a_wrong_labelled_set_stores_nothing(coordinator: Client, bank: QuestionBank, named: Path) -> None:
    for content, why in {
        b"{}": "A labelled set is a table",
        b"text\nquill\n": "Missing: 'label'",
        b"text,label\n": "no row below its header",
        b"text,label\nquill,name\n": "Row 2: “name” is no class of this classifier. Its classes: PHI, bias",
        b"text,question,label\nquill,1,PHI\n": "Row 2: State a text",
        b"question,label\n1,PHI\nx,PHI\n": "Row 3: “x” is no number",
        b"question,label\n9,PHI\n": "holds no question 9",
        b"text,label\nqu\0ill,PHI\n": "Row 2: The text holds a NUL character.",
    }.items():
        sent = {"folder": "tiny", "labelled": SimpleUploadedFile("set.csv", content)}
        answer = coordinator.post(reverse("bank-classify", args=[bank.slug]), sent)
        assert answer.status_code == 422, content
        assert why in " ".join(answer.content.decode().replace("&#x27;", "'").split())
    assert not LabelledSet.objects.exists()
    assert not Job.objects.exists()


def test_a_folder_that_is_not_named_or_changed_is_refused(
    bank: QuestionBank, cora: User, named: Path, settings: Any, tmp_path: Path
) -> None:
    with pytest.raises(Refused, match="no model folder named “other”"):
        ask_for_scores(bank, "other", actor=cora, at=NOON)
    classifier = classifier_named("tiny", at=NOON)
    settings.CLASSIFIER_FOLDERS = {"tiny": classifier_folder(tmp_path / "new", id2label={"0": "a", "1": "b"})}
    with pytest.raises(Refused, match="holds other files than before"):
        score_questions(classifier, bank, actor=None, at=NOON, progress=QUIET)
    assert not ClassScore.objects.exists()


# --- page and command ---
def test_the_page_scores_draws_and_sets(coordinator: Client, bank: QuestionBank, named: Path) -> None:
    page = reverse("bank-compliance", args=[bank.slug])
    assert "Score the questions" in coordinator.get(page).content.decode()
    sent = {"folder": "tiny", "labelled": SimpleUploadedFile("set.csv", SET)}
    assert coordinator.post(reverse("bank-classify", args=[bank.slug]), sent).status_code == 302
    running.run(Job.objects.get().public_id, clock=lambda: NOON)
    text = coordinator.get(page).content.decode()
    assert "3 / 3" in text
    assert "<polyline" in text
    assert "7 labelled texts" in " ".join(text.split())
    address = reverse("bank-class-threshold", args=[bank.slug, LabelledSet.objects.get().public_id])
    for wrong in ({"threshold": "1.5"}, {"threshold": "nan"}, {"label": "no"}, {"part": "c1"}):
        answer = coordinator.post(address, {"label": "PHI", "part": "identifiers", "threshold": "0.5", **wrong})
        assert answer.status_code == 422
        assert not ClassThreshold.objects.exists()
    assert coordinator.post(address, {"label": "PHI", "part": "identifiers", "threshold": "0.5"}).status_code == 302
    running.run(Job.objects.order_by("-pk")[0].public_id, clock=lambda: NOON)
    text = coordinator.get(page).content.decode()
    assert f"{reverse('bank', args=[bank.slug])}?finding=classified_identifier" in text
    question = coordinator.get(reverse("question", args=[bank.slug, 3])).content.decode()
    assert "P(PHI) is 0.018 by the classifier tiny, threshold 0.5." in question


def test_the_command_scores_and_sets(bank: QuestionBank, named: Path, tmp_path: Path) -> None:
    file = tmp_path / "set.csv"
    file.write_bytes(SET)

    def told(*words: str) -> dict[str, Any]:
        asked = ("--bank", bank.slug, "--folder", "tiny", *words, "--json")
        found: dict[str, Any] = json.loads(printed("classify_questions", *asked))
        return found

    first = told("--labelled", str(file), "--class", "PHI")
    assert (first["scored"], first["thresholds"]["0.5"]["recall"]["count"]) == (3, 4)
    second = told("--class", "PHI", "--threshold", "0.5")
    assert (second["part"], second["added"], second["precision"]["n"]) == ("identifiers", 1, 5)
    for wrong, why in (
        (("--class", "PHI", "--threshold", "1.5"), "from 0 to 1"),
        (("--threshold", "0.5"), "with --class"),
        (("--class", "no"), "has the classes PHI, bias"),
    ):
        with ends_with_2(why):
            told(*wrong)
    assert ClassThreshold.objects.get().threshold == 0.5

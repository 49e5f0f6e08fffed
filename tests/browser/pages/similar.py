"""Near-duplicates and twins in a public bank, for the site in which every page has something to show."""

from __future__ import annotations

import numpy as np
from django.utils import timezone

from annotation.models import Embedding, QuestionVector, Revision
from annotation.questionbank.bank_life import change_terms
from annotation.questionbank.duplicates import check_duplicates, check_twins
from annotation.validators.judging_pairs import end_trial, judge_pair
from tests.annotation.diversity.judged import judge_all, trial_of
from tests.annotation.review.cases import make_bank, make_revisions
from tests.browser.pages.place import Place


def compare(place: Place) -> None:
    """The generated bank with a public one, which holds two of its questions."""
    now, bank = timezone.now(), place.things["generated bank"]
    taken = Revision.objects.in_bank(bank).current().order_by("question__number")[:2]
    public = make_bank(place.named("Public questions")[:60])
    make_revisions(public, {n: {"stem": one.stem, "options": one.options} for n, one in enumerate(taken, start=1)})
    change_terms(public, terms="", holds_quarters=False, is_public=True, actor=None, at=now)
    check_duplicates(bank, actor=None, at=now)
    check_twins(bank, actor=None, at=now)
    place.things["public bank"] = public
    _embed(place)


def _embed(place: Place) -> None:
    """Vectors of a model without a threshold, of all questions; and of another one, of some."""
    bank, now = place.things["generated bank"], timezone.now()
    revisions = Revision.objects.in_bank(bank).current().order_by("question__number")
    for model, threshold, n in (("MedEmbed-small", 0.9, len(revisions)), ("other-embedding", None, 3)):
        made = Embedding.objects.create(
            endpoint="stand-in", model=place.named(model)[:190], dimension=8, threshold=threshold, created_at=now
        )
        if threshold:
            made.threshold_set_by, made.threshold_set_at = place.people["cora"], now
            made.save()
        drawn = np.random.default_rng(4)
        for revision in revisions[:n]:
            vector = drawn.standard_normal(8) + 1
            vector /= np.linalg.norm(vector)
            QuestionVector.objects.create(
                embedding=made, revision=revision, text_sha256="0" * 64, vector=vector.astype("<f4").tobytes()
            )
        place.things[f"embedding {model}"] = made
    here = Embedding.objects.create(
        endpoint="folder:all-minilm-l6-v2", model="4fd1a09ba0c1", dimension=2, created_at=now
    )
    near = np.array([0.6, 0.8], dtype="<f4").tobytes()
    QuestionVector.objects.create(embedding=here, revision=revisions[0], text_sha256="0" * 64, vector=near)
    cora, omni = place.people["cora"], place.people["omni"]
    whole = place.things["embedding MedEmbed-small"]
    for name in ("done", "open", "ended"):
        trial = trial_of(bank, whole, cora, omni)
        judge_all(trial, omni, same_from=0.6)
        if name == "done":
            judge_all(trial, cora, same_from=0.7)
        if name == "ended":
            for pair in trial.pairs.all()[:4]:
                judge_pair(trial, pair.number, is_same=pair.similarity >= 0.7, actor=cora, at=now)
            end_trial(trial, actor=cora, at=now)
        place.things[f"pairs {name}"] = trial
    place.things["pairs of a reviewer"] = trial_of(bank, whole, cora, place.people["rita"])

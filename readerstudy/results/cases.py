"""The cases behind numbers: what was asked, with its key, its images, and the explanations that models gave."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from annotation.enums import RoundState
from annotation.ingest.completeness import why_unseen
from annotation.ingest.serving import image_descriptors
from annotation.models import AnswerKey
from annotation.review.kernels.settling import panel_difficulty
from annotation.review.outcomes import blind_answers
from readerstudy.design.shown import is_of_prior
from readerstudy.enums import Block
from readerstudy.models import Prediction, ReaderStudy, ShownImage, StudyCase
from readerstudy.results.wording import sign

if TYPE_CHECKING:
    from readerstudy.results.kernels.agreement_tables import Disagreement

LETTERS = "ABCD"


class Option(Struct, frozen=True):
    letter: str
    text: str
    is_key: bool
    chosen_by: list[str]


class CaseShown(Struct, frozen=True):
    """One case on which two raters disagree, for a coordinator."""

    answers: Disagreement
    case: StudyCase
    options: list[Option]
    no_option: list[tuple[str, str]]  # who chose none, and why
    explanations: list[tuple[str, str]]  # of models, then that of the bank under an empty name
    images: list[dict[str, Any]]


def cases_shown(
    study: ReaderStudy, names: tuple[str, str], runs: Mapping[str, str], disagreements: Sequence[Disagreement]
) -> list[CaseShown]:
    """Five queries at the most, however many cases. Images are those that were frozen, where they may be seen today.

    ``runs`` holds the public id of the run of each model, by its name.
    """
    rows = StudyCase.objects.filter(study=study, public_id__in=[one.case_id for one in disagreements])
    cases = {one.public_id: one for one in rows.select_related("revision__question")}
    revisions = [one.revision_id for one in cases.values()]
    keys = {one.revision_id: one for one in AnswerKey.objects.filter(revision__in=revisions)}
    by_model = _explanations(names, runs, revisions)
    images = _images(list(cases.values()))
    found = []
    for one in disagreements:
        case = cases.get(one.case_id)
        if case is None:
            continue
        texts = [(name, by_model[name].get(case.revision_id, "")) for name in names if name in by_model]
        texts.append(("", keys[case.revision_id].explanation))
        found.append(
            CaseShown(
                answers=one,
                case=case,
                options=_options(case, names, one),
                no_option=[(name, sign(answer)) for name, answer in _signs(names, one) if answer not in LETTERS],
                explanations=[(name, text) for name, text in texts if text.strip()],
                images=images.get(case.pk, []),
            )
        )
    return found


def _signs(names: tuple[str, str], one: Disagreement) -> list[tuple[str, str]]:
    return list(zip(names, (one.first, one.second), strict=True))


def _options(case: StudyCase, names: tuple[str, str], one: Disagreement) -> list[Option]:
    return [
        Option(letter, text, letter == one.key, [name for name, answer in _signs(names, one) if answer == letter])
        for letter, text in zip(LETTERS, case.revision.options, strict=False)
    ]


def _explanations(names: tuple[str, str], runs: Mapping[str, str], revisions: list[int]) -> dict[str, dict[int, str]]:
    """By the name of the model and the revision; readers have none."""
    name_of = {runs[name]: name for name in names if name in runs}
    found: dict[str, dict[int, str]] = {name: {} for name in name_of.values()}
    if not name_of:
        return found
    rows = Prediction.objects.filter(run__public_id__in=name_of, revision__in=revisions)
    for run, revision, explanation in rows.values_list("run__public_id", "revision_id", "explanation"):
        found[name_of[run]][revision] = explanation
    return found


def _images(cases: Sequence[StudyCase]) -> dict[int, list[dict[str, Any]]]:
    """What the viewer would be given of each case, and a line in place of each image that nobody sees today."""
    rows = ShownImage.objects.filter(case__in=cases).select_related("image").prefetch_related("image__renditions")
    found: dict[int, list[dict[str, Any]]] = {}
    for one in rows:
        unseen = {"view_position": one.image.view_position, "why": why_unseen(one.image.state)}
        [image] = image_descriptors([one.image]) or [unseen]
        found.setdefault(one.case_id, []).append({**image, "prior": True} if is_of_prior(one.frozen) else image)
    return found


def judged_difficulties(study: ReaderStudy) -> dict[str, str]:
    """How difficult reviewers found each case before they saw its key, by the random id of the case: their median, the
    harder of the two in the middle. Of closed rounds alone, since a coordinator may still be reviewing in others.
    """
    main = study.cases.filter(block=Block.MAIN)
    answers = blind_answers(main.values("revision")).filter(round__state=RoundState.CLOSED)
    judged: dict[int, list[str]] = defaultdict(list)
    for revision, difficulty in answers.values_list("revision_id", "blind_answer__difficulty"):
        if difficulty:
            judged[revision].append(difficulty)
    cases = main.filter(revision__in=[*judged]).values_list("public_id", "revision_id") if judged else []
    return {case: panel_difficulty(judged[revision]).value for case, revision in cases}

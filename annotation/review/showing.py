"""One case as its reviewer may see it now: loads what visible_parts names, and nothing else reaches a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from annotation.enums import (
    AssignmentState,
    Difficulty,
    ImageState,
    OptionLetter,
    RoundState,
    RoundSteps,
    Sex,
    Task,
    ViewPosition,
)
from annotation.ingest.completeness import why_unseen
from annotation.ingest.serving import Names, image_descriptors
from annotation.models import AnswerKey, Assignment, Image, Rendition, Review, SampledQuestion, User
from annotation.review.assignments import (
    N_AHEAD,
    CaseExams,
    RoundProgress,
    design_of,
    exams_of,
    is_final,
    knows_key,
    newest_review,
    next_exams,
    progress_at,
    stored_answer,
    stored_blind,
)
from annotation.review.kernels.form import Blind, following_flags, stored_disagreement
from annotation.review.kernels.form_design import FormDesign
from annotation.review.kernels.visibility import CasePart, CaseProgress, Step, current_step, visible_parts
from annotation.review.viewing import viewing_of
from annotation.site.sorted_tables import KeptQuery

Descriptors = list[dict[str, Any]]
MOST_AGE = 90  # 90 means 90 or older

# Images of this case and of those ahead, and what the viewer needs of them; removed ones leave a placeholder.
_EXAMS = (int,) * (2 * (1 + N_AHEAD))  # each with its prior
_IMAGES = KeptQuery(
    lambda *exams: (
        Image.objects.filter(exam_id__in=exams)
        .only(
            *("public_id", "exam_id", "position", "state", "view_position", "laterality"),
            *("display", "simulated", "attribution", "licence"),
        )
        .order_by("position", "pk")
    ),
    *_EXAMS,
)
_RENDITIONS = KeptQuery(
    lambda *exams: Rendition.objects.filter(image__exam_id__in=exams).values_list("image_id", "kind", "name"), *_EXAMS
)
_TRUTH = KeptQuery(lambda pk: AnswerKey.objects.filter(pk=pk), int)
_EXPLAINED = KeptQuery(
    lambda plan, pk: SampledQuestion.objects.filter(plan=plan, revision=pk).values_list("explanation"), int, int
)
_WITH_REPORT = KeptQuery(lambda pk: AnswerKey.objects.filter(pk=pk).select_related("report"), int)


class ShownOption(Struct, frozen=True):
    """One option; the marks are False while they may not be seen."""

    letter: str
    text: str
    is_own: bool = False
    is_defensible: bool = False
    is_key: bool = False


class ShownImage(Struct, frozen=True):
    """An image that cannot be shown, and why."""

    view: str
    why: str
    is_prior: bool


class CaseImages(Struct, frozen=True):
    """The images of a case: of its exam, and of the prior that is shown beside it."""

    own: list[Image]
    prior: list[Image]

    def described(self, names: Names) -> Descriptors:
        return image_descriptors([*self.own, *self.prior], names=names, priors={image.pk for image in self.prior})

    def missing(self) -> list[ShownImage]:
        return [
            ShownImage(_view(image).label, why_unseen(image.state), image in self.prior)
            for image in (*self.own, *self.prior)
            if image.state != ImageState.AVAILABLE
        ]


class ShownCase(Struct, frozen=True, kw_only=True):
    """Everything that a page about this case may contain. What may not be seen is empty."""

    public_id: str
    round_name: str
    round_slug: str
    round_open: bool
    simulated: bool
    hidden_tools: tuple[str, ...]
    least_window: tuple[int, int] | None
    double_click: bool  # on an option submits
    steps: str
    design: FormDesign  # what its form asks
    step: Step
    state: str
    progress: RoundProgress
    stem: str
    options: list[ShownOption]
    age: int | None
    age_is_open: bool
    sex: Sex
    views: list[ViewPosition]
    descriptors: Descriptors
    next_descriptors: list[Descriptors]  # of the cases that come next, in their order
    missing: list[ShownImage]
    version: int  # of the newest review; 0 while there is none
    n_stored: int
    draft_sequence: int
    draft_page: str
    is_changed: bool  # submitted, and something was entered since that was not submitted
    values: Mapping[str, Any]  # form values: of the draft, else of the newest review
    skip_reason: str
    knows_key: bool  # the reviewer has read the key elsewhere: nothing can be answered blind
    is_first: bool  # the first case of the reviewer's first round: the steps are explained
    own: Blind | None = None
    meant: str = ""  # reported as an input error of the blind answer
    key: str = ""
    explanation: str = ""
    is_explained_by_model: bool = False
    following: tuple[str, ...] = ()
    task: Task | None = None
    category: str = ""
    report_opened: bool = False
    findings: str = ""
    impression: str = ""
    stated_difficulty: Difficulty | None = None

    @property
    def is_blind(self) -> bool:
        return self.step == Step.BLIND

    @property
    def may_slip(self) -> bool:
        """Whether an input error of the blind answer can be reported still."""
        return self.own is not None and not self.version and self.round_open

    @property
    def has_images(self) -> bool:
        """Whether there is something to answer the question by: a prior alone is nothing."""
        return any("prior" not in image for image in self.descriptors)


def progress_of(assignment: Assignment, *, submitted: bool) -> CaseProgress:
    return CaseProgress(
        steps=RoundSteps.OPEN if assignment.round.steps == RoundSteps.OPEN else RoundSteps.FULL,
        answered=stored_answer(assignment) is not None,
        report_opened=assignment.report_opened_at is not None,
        submitted=submitted,
        round_open=assignment.round.state == RoundState.OPEN and not is_final(assignment),
    )


def show_case(assignment: Assignment, *, viewer: User, ahead: Sequence[Assignment] | None = None) -> ShownCase:
    """The case of an assignment as CASES loads it, as its reviewer may see it now.

    ``ahead`` are the assignments that come next, where they are known; otherwise they are looked up.
    """
    review = newest_review(assignment)
    state = progress_of(assignment, submitted=review is not None)
    parts = visible_parts(state)
    answer = stored_answer(assignment)
    own = stored_blind(answer) if answer is not None and CasePart.OWN_ANSWER in parts else None
    revision, exam = assignment.revision, assignment.revision.question.exam
    exams = [exams_of(assignment), *(_exams_ahead(assignment, ahead, viewer) if state.round_open else [])]
    names = _names(exams)
    images, *next_images = _images(exams)
    stored_draft = getattr(assignment, "draft", None)
    draft = stored_draft if state.round_open or review is None else None  # closed: what was submitted is shown
    truth = _truth(assignment, parts, own)
    viewing = viewing_of(assignment.round)
    progress = progress_at(assignment)
    version = review.version if review is not None else 0
    return ShownCase(
        public_id=assignment.public_id,
        round_name=assignment.round.name,
        round_slug=assignment.round.slug,
        round_open=state.round_open,
        simulated=assignment.round.simulated,
        hidden_tools=viewing.hidden_tools,
        least_window=viewing.least_window,
        double_click=viewing.double_click,
        steps=assignment.round.steps,
        design=design_of(assignment),
        step=current_step(state),
        state=assignment.state,
        progress=progress,
        stem=revision.stem,
        options=_options(list(revision.options), own, truth.get("key", "")),
        age=exam.age_years,
        age_is_open=exam.age_years is not None and exam.age_years >= MOST_AGE,
        sex=next((sex for sex in Sex if sex == exam.sex), Sex.UNKNOWN),
        views=[_view(image) for image in images.own],
        descriptors=images.described(names),
        next_descriptors=[of_one.described(names) for of_one in next_images],
        missing=images.missing(),
        version=version,
        n_stored=int(answer is not None) + version,
        draft_sequence=draft.sequence if draft is not None else 0,
        draft_page=draft.page if draft is not None else "",
        is_changed=draft is not None and review is not None,
        values=draft.data if draft is not None else values_of(review),
        skip_reason=assignment.skip_reason if assignment.state == AssignmentState.SKIPPED else "",
        knows_key=knows_key(assignment),
        is_first=state.round_open and answer is None and progress.place == 1 and progress.is_new,
        own=own,
        meant=answer.meant if answer is not None else "",
        task=next((task for task in Task if task == revision.task), None) if CasePart.TASK in parts else None,
        category=revision.category if CasePart.CATEGORY in parts else "",
        report_opened=CasePart.REPORT in parts,
        stated_difficulty=(
            next((d for d in Difficulty if d == revision.difficulty), Difficulty.UNKNOWN)
            if CasePart.STATED_DIFFICULTY in parts
            else None
        ),
        **truth,
    )


def _truth(assignment: Assignment, parts: frozenset[CasePart], own: Blind | None) -> dict[str, Any]:
    """Key, explanation, report and what follows from them. The table is not asked before it may be seen."""
    if CasePart.KEY not in parts:
        return {}
    row = (_WITH_REPORT if CasePart.REPORT in parts else _TRUTH)(assignment.revision_id)[0]
    explanation, is_of_model = row.explanation, assignment.round.grades_explanations
    if is_of_model:
        ((explanation,),) = _EXPLAINED(assignment.round.plan_id, assignment.revision_id)
    truth: dict[str, Any] = {
        "key": row.key,
        "explanation": explanation,
        "is_explained_by_model": is_of_model,
        "following": tuple(flag.value for flag in following_flags(own, row.key)),
    }
    if CasePart.REPORT in parts and row.report is not None:
        truth |= {"findings": row.report.findings, "impression": row.report.impression}
    return truth


def _options(texts: list[str], own: Blind | None, key: str) -> list[ShownOption]:
    return [
        ShownOption(
            letter=letter.value,
            text=text,
            is_own=own is not None and own.best == letter,
            is_defensible=own is not None and letter in own.defensible and own.best != letter,
            is_key=key == letter,
        )
        for letter, text in zip(OptionLetter, texts, strict=False)
    ]


def _exams_ahead(assignment: Assignment, ahead: Sequence[Assignment] | None, viewer: User) -> list[CaseExams]:
    if ahead is not None:
        return [exams_of(following) for following in ahead]
    return next_exams(viewer, assignment.round, leaving=assignment, most=N_AHEAD)


def _images(cases: Sequence[CaseExams]) -> list[CaseImages]:
    """The images of each of these cases, of which there are at most one and N_AHEAD."""
    images = _IMAGES(*_filled(cases))
    return [
        CaseImages(
            [image for image in images if image.exam_id == exam and image.public_id not in left_out],
            [image for image in images if image.exam_id == prior],
        )
        for exam, prior, left_out in cases
    ]


def _names(cases: Sequence[CaseExams]) -> Names:
    """How the renditions of their images are called."""
    names: Names = {}
    for image_id, kind, name in _RENDITIONS(*_filled(cases)):
        names.setdefault(image_id, {})[kind] = name
    return names


def _filled(cases: Sequence[CaseExams]) -> list[int]:
    """As many exams as the queries take; the first one may be there several times."""
    exams = [exam for of_one in cases for exam in of_one.ids]
    return [*exams, *[exams[0]] * (len(_EXAMS) - len(exams))]


def _view(image: Image) -> ViewPosition:
    return next((view for view in ViewPosition if view == image.view_position), ViewPosition.UNKNOWN)


def values_of(review: Review | None) -> dict[str, Any]:
    """A stored review as form values, so that it can be changed."""
    if review is None:
        return {}
    return {
        **{name: str(grade) for name, grade in review.grades.items()},
        "needs_image": review.needs_image,
        "relevant": review.relevant,
        "flags": review.flags,
        "withdrawn_flags": review.withdrawn_flags,
        "disagreement": stored_disagreement(review.disagreement, review.flags, review.withdrawn_flags),
        "verdict": review.verdict,
        "verdict_reason": review.verdict_reason,
        "reasoning": review.reasoning,
        "comment": review.comment,
        "category": review.category,
    }

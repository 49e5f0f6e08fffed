"""How a round is designed beyond its sample: the form, calibration, hidden repeats, the deadline; and what it costs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct
from msgspec.structs import asdict, replace

from annotation.audit.recording import record
from annotation.enums import EXPLANATIONS, PAPER_FORM
from annotation.models import Review, ReviewForm, ReviewRound, SamplingPlan, User
from annotation.models.fields import AsRead
from annotation.review.calibrating import check_calibration
from annotation.review.kernels.allotment import n_repeats
from annotation.review.kernels.form_design import CRITERIA, CRITERIA_FORM, FormDesign, check_design, stored_design
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.onlookers import case_minutes
from annotation.review.samples import MOST_REPEATED
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import median_estimate

MOST_TIMES = 5_000  # the newest reviews that an estimate of minutes looks at


class RoundDesign(Struct, frozen=True, kw_only=True):
    """Fields as the columns of ReviewRound of these names. ``form`` None: the form of the paper."""

    form: ReviewForm | None = None
    shared_answers: ReviewRound | None = None
    pass_mark: int | None = None
    percent_repeated: int = 0
    shows_decisions: bool = False
    due_at: datetime | None = None

    def as_columns(self) -> dict[str, Any]:
        return asdict(self)


PLAIN = RoundDesign()


def design_of_round(review_round: ReviewRound) -> RoundDesign:
    return RoundDesign(**{name: getattr(review_round, name) for name in RoundDesign.__struct_fields__})


def check_round_design(design: RoundDesign, plan: SamplingPlan) -> RoundDesign:
    """The design as it is stored: no pass mark without calibration, and no explanation of a model twice.

    Raises ReviewRefused for shared answers or a pass mark that cannot be, and for too many repeats.
    """
    if not 0 <= design.percent_repeated <= MOST_REPEATED:
        sentence = _("Repeat 0 to %(n)s percent of the questions.") % {"n": MOST_REPEATED}
        raise ReviewRefused("out_of_range", sentence, status=422, field="percent_repeated")
    if plan.rule == EXPLANATIONS:
        design = replace(design, percent_repeated=0)
    check_calibration(plan, design.shared_answers, design.pass_mark)
    return design if design.shared_answers is not None else replace(design, pass_mark=None)


# --- forms of one's own ---------------------------------------------------------------------------
def newest_forms() -> QuerySet[ReviewForm]:
    """The newest version of each form, by name."""
    later = ReviewForm.objects.filter(name=OuterRef("name"), version__gt=OuterRef("version"))
    return ReviewForm.objects.filter(~Exists(later)).select_related("created_by").order_by(AsRead("name"))


@transaction.atomic
def store_form(name: str, design: FormDesign, *, actor: User | None, at: datetime) -> ReviewForm:
    """A new form, or the next version of the one with this name; the same design again is the version that is there.

    ``actor`` is None for what comes with the program.

    Raises ReviewRefused without a name, for one that is too long or the paper's, and as check_design does.
    """
    text = " ".join(name.replace("\x00", "").split())
    if not text or len(text) > 80:
        sentence = _("Give the form a name of at most 80 characters.")
        raise ReviewRefused("name_missing", sentence, status=422, field="name")
    if f"{text}-1" == PAPER_FORM:
        sentence = _("That is the name of the form of the paper: give the form another one.")
        raise ReviewRefused("name_taken", sentence, status=422, field="name")
    check_design(design)
    newest = ReviewForm.objects.select_for_update().filter(name=text).order_by("-version").first()
    if newest is not None and stored_design(newest.design) == design:
        return newest
    made = ReviewForm.objects.create(
        name=text, version=newest.version + 1 if newest else 1, design=design.as_json(), created_by=actor, created_at=at
    )
    record("form.stored", actor=actor, at=at, subject=made, facts={"name": text, "version": made.version})
    return made


def store_criteria_form(*, at: datetime) -> ReviewForm:
    """The form of the three criteria, stored whenever a site is prepared; what people made of it since stays."""
    stored = newest_forms().filter(name=CRITERIA_FORM).first()
    return stored or store_form(CRITERIA_FORM, FormDesign(grades=CRITERIA, choices=()), actor=None, at=at)


# --- what a round costs -----------------------------------------------------------------------------
class RoundCost(Struct, frozen=True, kw_only=True):
    """Cases that reviewers will see, and their time. ``minutes`` is the median per case of earlier rounds."""

    n_questions: int
    per_question: int
    n_reviewers: int
    n_repeats: int
    n_calibration: int  # cases of all reviewers together
    minutes: Estimate
    n_rounds: int  # that the minutes are of

    @property
    def n_reviews(self) -> int:
        return self.n_questions * self.per_question

    @property
    def n_cases(self) -> int:
        return self.n_reviews + self.n_repeats + self.n_calibration

    @property
    def hours(self) -> float | None:
        return None if self.minutes.value is None else self.n_cases * self.minutes.value / 60

    @property
    def hours_each(self) -> float | None:
        return None if self.hours is None or not self.n_reviewers else self.hours / self.n_reviewers

    @property
    def hours_between(self) -> tuple[float, float] | None:
        if self.minutes.ci95 is None:
            return None
        low, high = self.minutes.ci95
        return self.n_cases * low / 60, self.n_cases * high / 60


def cost_of(
    plan: SamplingPlan,
    *,
    per_question: int,
    n_reviewers: int,
    steps: str,
    percent_repeated: int = 0,
    shared_answers: ReviewRound | None = None,
) -> RoundCost:
    """Questions x reviews, with repeats and calibration, at the median time of earlier reviews with these steps.

    Without reviewers there are as many as each question needs.
    """
    n_questions = plan.questions.count()
    people = max(n_reviewers, per_question)
    each = n_questions * per_question // people
    n_shared = 0
    if shared_answers is not None:
        of_shared = shared_answers.assignments.filter(reviews__isnull=False)
        n_shared = of_shared.values("revision").distinct().count()
    minutes, n_rounds = _minutes(steps)
    return RoundCost(
        n_questions=n_questions,
        per_question=per_question,
        n_reviewers=people,
        n_repeats=people * n_repeats(each, percent_repeated),
        n_calibration=people * n_shared,
        minutes=minutes,
        n_rounds=n_rounds,
    )


def _minutes(steps: str) -> tuple[Estimate, int]:
    """The median over earlier reviews in rounds with these steps, and of how many rounds they are."""
    cases = case_minutes(Review.objects.filter(assignment__round__steps=steps), most=MOST_TIMES)
    return median_estimate([minutes for _round, minutes in cases]), len({pk for pk, _minutes in cases})

"""Samples of questions, review rounds, and what reviewers answer, judge and send.

What a round decided about each of its questions, by the rule or by an adjudicator.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.enums import (
    EXPLANATIONS,
    PAPER_FORM,
    AssignmentState,
    BindingVerdict,
    Difficulty,
    Disagreement,
    EventKind,
    OptionLetter,
    QuestionState,
    ReturnReason,
    RoundState,
    RoundSteps,
    Verdict,
)
from annotation.models.fields import (
    ComposedLine,
    ComposedText,
    Deletable,
    KeptManager,
    PublicIdField,
    Timed,
    WordField,
    a_person_or_none,
    named_once,
)


class SamplingPlan(Deletable):
    """How a sample was drawn: the frame, the strata, the allocation and the seed; enough to draw it again."""

    name = ComposedLine(_("name"), max_length=200)
    slug = models.SlugField(max_length=80)
    bank = models.ForeignKey("annotation.QuestionBank", on_delete=models.PROTECT, related_name="plans")
    rule = models.CharField(max_length=32)  # version of the drawing rule: old samples keep theirs
    stratify_by = models.CharField(max_length=16)  # difficulty, task, category, none
    per_thousand = models.PositiveIntegerField(_("questions per thousand"))
    seed = models.BigIntegerField(_("seed"))
    strata = models.JSONField()  # list of {stratum, n_frame, n_drawn}
    n_frame = models.PositiveIntegerField()
    frame = models.JSONField(
        default=dict, blank=True
    )  # {"filters": {name: value}} or {"chosen": n}, and what was left out
    frame_sha256 = models.CharField(max_length=64)  # over the ordered question numbers and strata of the frame
    created_by = a_person_or_none()
    created_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True, blank=True)

    objects: KeptManager[SamplingPlan] = KeptManager()
    everywhere = models.Manager["SamplingPlan"]()

    class Meta:
        ordering = ("-created_at",)
        constraints = named_once("sample")

    def __str__(self) -> str:
        return self.name


class SampledQuestion(models.Model):
    """One drawn question, in the wording that was current when it was drawn."""

    plan = models.ForeignKey(SamplingPlan, on_delete=models.CASCADE, related_name="questions")
    position = models.PositiveIntegerField()
    revision = models.ForeignKey("annotation.Revision", on_delete=models.PROTECT, related_name="+")
    stratum = models.CharField(max_length=200)
    explanation = models.TextField(blank=True)  # of a model, shown and graded in place of the question's own
    model = models.CharField(max_length=300, blank=True)  # which; shown to nobody before the round is closed

    class Meta:
        ordering = ("plan", "position")
        constraints = (
            models.UniqueConstraint(fields=["plan", "position"], name="sampled_position_once"),
            models.UniqueConstraint(fields=["plan", "revision"], name="sampled_revision_once"),
        )

    def __str__(self) -> str:
        return f"{self.position} of sample {self.plan_id}"


class ReviewForm(models.Model):
    """One version of a form of one's own: what is asked and the anchors. Never changed; a change is a new version."""

    name = ComposedLine(_("name"), max_length=80)
    version = models.PositiveSmallIntegerField(default=1)
    design = models.JSONField()  # annotation.review.kernels.form_design.FormDesign.as_json
    created_by = a_person_or_none()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("name", "-version")
        constraints = (models.UniqueConstraint(fields=["name", "version"], name="review_form_version_once"),)

    def __str__(self) -> str:
        return f"{self.name}-{self.version}"


class RoundManager(KeptManager["ReviewRound"]):
    """The rounds that coordinators make: not in the bin, and neither cases of adjudicators nor calibration cases."""

    def get_queryset(self) -> models.QuerySet[ReviewRound]:
        return super().get_queryset().filter(adjudicates=None, calibrates=None)


class ReviewRound(Deletable):
    """A closed set of questions, each reviewed by ``reviewers_per_question`` people.

    What adjudicators answer and judge themselves, before they see the reviews, belongs to a further row of which
    ``adjudicates`` names the round; what its reviewers say to the calibration questions, to one of which ``calibrates``
    names it.
    """

    name = ComposedLine(_("name"), max_length=200)
    slug = models.SlugField(max_length=80)
    plan = models.ForeignKey("annotation.SamplingPlan", on_delete=models.PROTECT, related_name="rounds")
    state = WordField(RoundState, default=RoundState.DRAFT)
    steps = WordField(RoundSteps, max_length=8, default=RoundSteps.FULL)
    reviewers_per_question = models.PositiveSmallIntegerField(_("reviews of each question"), default=1)
    seed = models.BigIntegerField(_("seed"), default=0)  # of the assignment and of each reviewer's order
    instructions = ComposedText(_("instructions"), blank=True)
    hidden_tools = models.JSONField(default=list, blank=True)  # ViewerTool values that its reviewers do without
    least_width = models.PositiveSmallIntegerField(null=True, blank=True)  # of the browser window, CSS pixels
    least_height = models.PositiveSmallIntegerField(null=True, blank=True)
    double_click = models.BooleanField(default=False)  # on an option submits the blind answer, as Enter does
    display_check = models.BooleanField(default=False, db_default=False)  # asked of its reviewers
    simulated = models.BooleanField(default=False)
    form = models.ForeignKey(ReviewForm, on_delete=models.PROTECT, null=True, blank=True, related_name="rounds")
    percent_repeated = models.PositiveSmallIntegerField(default=0)  # of each reviewer's questions, shown twice
    shared_answers = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )  # the closed round whose reviews every reviewer is compared with first; null: no calibration
    pass_mark = models.PositiveSmallIntegerField(null=True, blank=True)  # percent of the calibration
    shows_decisions = models.BooleanField(default=False)  # to its reviewers, once it is closed
    adjudicates = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="adjudication"
    )
    calibrates = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="calibration_cases"
    )
    created_by = a_person_or_none()
    created_at = models.DateTimeField()
    opened_at = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField(null=True, blank=True)  # reviews are to be in by then; nothing ends by itself
    completed_at = models.DateTimeField(null=True, blank=True)  # when its reviews became final and were settled
    closed_at = models.DateTimeField(null=True, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    objects = RoundManager()
    everywhere = models.Manager["ReviewRound"]()

    class Meta:
        ordering = ("-created_at",)
        constraints = (
            *named_once("round"),
            models.CheckConstraint(
                condition=Q(least_width__isnull=True, least_height__isnull=True)
                | Q(least_width__isnull=False, least_height__isnull=False),
                name="round_window_whole",
            ),
            models.CheckConstraint(
                condition=Q(shared_answers__isnull=True, pass_mark__isnull=True)
                | Q(shared_answers__isnull=False, pass_mark__isnull=False),
                name="round_calibration_whole",
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def grades_explanations(self) -> bool:
        """Whether it grades explanations of models: nothing of it settles its questions, or counts for their bank."""
        return self.plan.rule == EXPLANATIONS


# Assignments whose blind answers count: not of adjudicators, to whom went what others had found hard, of calibration or
# of repeats.
ANSWERED_BLIND = models.Q(
    state=AssignmentState.SUBMITTED,
    blind_answer__isnull=False,
    repeats=None,
    round__adjudicates=None,
    round__calibrates=None,
)


class Assignment(models.Model):
    """One reviewer on one question of a round. How far the reviewer is: ``state``."""

    public_id = PublicIdField()
    round = models.ForeignKey(ReviewRound, on_delete=models.PROTECT, related_name="assignments")
    reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="assignments")
    revision = models.ForeignKey("annotation.Revision", on_delete=models.PROTECT, related_name="+")
    position = models.PositiveIntegerField()  # in this reviewer's own order
    state = WordField(AssignmentState, max_length=10, default=AssignmentState.WAITING)
    skip_reason = ComposedLine(max_length=300, blank=True)
    returned_because = WordField(ReturnReason, max_length=16, blank=True, default=ReturnReason.NONE)
    skipped_at = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    report_opened_at = models.DateTimeField(null=True, blank=True)  # the moment of step 3
    reassigned_from = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    repeats = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="repeated_by"
    )  # the same question of the same reviewer, hidden among the others, for the agreement with oneself

    class Meta:
        ordering = ("round", "reviewer", "position")
        constraints = (
            models.UniqueConstraint(
                fields=["round", "reviewer", "revision"],
                condition=~Q(state="withdrawn") & Q(repeats=None),
                name="assignment_once_per_reviewer",
            ),
            models.UniqueConstraint(
                fields=["repeats"], condition=~Q(state="withdrawn") & Q(repeats__isnull=False), name="repeated_once"
            ),
        )
        indexes = (
            models.Index(fields=["reviewer", "round", "state", "position"], name="assignment_worklist"),
            models.Index(fields=["reviewer", "revision"], name="assignment_of_question"),  # whether the key is known
        )

    def __str__(self) -> str:
        return f"assignment {self.public_id}"


class BlindAnswer(Timed):
    """Step 1, final once stored: what the reviewer answered before the key was shown."""

    assignment = models.OneToOneField(Assignment, on_delete=models.PROTECT, related_name="blind_answer")
    best = WordField(OptionLetter, max_length=1, blank=True)  # empty: no option is defensible
    defensible = models.JSONField(default=list)  # letters, the best one included
    difficulty = WordField(Difficulty, max_length=6)
    meant = models.CharField(max_length=4, blank=True, db_default="")  # reported as input error: a letter, or "none"
    answered_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"blind answer of assignment {self.assignment_id}"


class ReviewDraft(models.Model):
    """What the form contained when it was last saved. Never exported, gone with the submission."""

    assignment = models.OneToOneField(Assignment, on_delete=models.CASCADE, related_name="draft")
    data = models.JSONField(default=dict)
    saved_at = models.DateTimeField()
    sequence = models.PositiveIntegerField(default=0)  # counted by the pages; an older one does not replace a newer
    page = models.CharField(
        max_length=36, default="", blank=True
    )  # that sent it, as it names itself; one of before: ""

    def __str__(self) -> str:
        return f"draft of assignment {self.assignment_id}"


class Review(Timed):
    """Steps 2 and 3 as submitted. A change is a new version; the newest one counts, the old ones stay."""

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="reviews")
    version = models.PositiveSmallIntegerField(default=1)
    grades = models.JSONField(default=dict)  # GradeName -> 1..5 or "cannot_judge"
    needs_image = models.CharField(max_length=12, blank=True)  # Degree
    relevant = models.CharField(max_length=12, blank=True)  # Degree
    flags = models.JSONField(default=list)  # Flag values that are set
    withdrawn_flags = models.JSONField(default=list)  # flags that followed from step 1 and were taken back
    disagreement = WordField(Disagreement, max_length=16, blank=True, default=Disagreement.NONE)
    verdict = WordField(Verdict, max_length=12)
    verdict_reason = ComposedText(blank=True)  # required for "cannot judge"
    reasoning = ComposedText(blank=True)
    comment = ComposedText(blank=True)
    category = ComposedLine(max_length=200, blank=True)  # the corrected category; empty: as it was
    form = models.CharField(max_length=100, default=PAPER_FORM, db_default=PAPER_FORM)  # its name and version
    simulated = models.BooleanField(default=False)
    submitted_at = models.DateTimeField()

    class Meta:
        ordering = ("assignment", "version")
        constraints = (models.UniqueConstraint(fields=["assignment", "version"], name="review_version_once"),)

    def __str__(self) -> str:
        return f"review {self.version} of assignment {self.assignment_id}"


class CalibrationResult(models.Model):
    """How one reviewer of a round compares with the shared answers, and whether they may review in it."""

    round = models.ForeignKey(ReviewRound, on_delete=models.CASCADE, related_name="calibrations")
    reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    rule = models.CharField(max_length=16)  # version of the rule that compares
    n_compared = models.PositiveIntegerField(default=0)  # judgements; 0: let in without
    n_agreed = models.PositiveIntegerField(default=0)
    passed = models.BooleanField(default=False)
    finished_at = models.DateTimeField(null=True, blank=True)
    let_in_by = a_person_or_none()  # a coordinator, who gave a reason
    let_in_at = models.DateTimeField(null=True, blank=True)
    let_in_reason = ComposedText(blank=True)

    class Meta:
        ordering = ("round", "pk")
        constraints = (models.UniqueConstraint(fields=["round", "reviewer"], name="calibration_once"),)

    def __str__(self) -> str:
        return f"calibration of person {self.reviewer_id} in round {self.round_id}"


class ReviewEvent(models.Model):
    """One event that the clock of a case reported. Insert-only, enforced by triggers; page and sequence name it.

    ``opened`` is written by the server, under the page "server".
    """

    assignment = models.ForeignKey(
        "annotation.Assignment", on_delete=models.PROTECT, related_name="events", db_index=False
    )
    page = models.CharField(max_length=36)  # a load of the page: client_ms starts anew with each
    sequence = models.PositiveIntegerField()  # counted by the page
    kind = WordField(EventKind, max_length=10)
    client_ms = models.FloatField()  # the page's monotonic clock
    wall_ms = models.FloatField(null=True, blank=True)  # the client's time of day, since 1970
    received_at = models.DateTimeField()
    details = models.JSONField(default=dict)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["assignment", "page", "sequence"], name="review_event_once"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.sequence} of page {self.page[:8]}"


# --- What a round decided about each of its questions, by the rule or by an adjudicator -----------
class Settlement(models.Model):
    """One question of a round: settled by the rule, or waiting for an adjudicator and decided by one."""

    public_id = PublicIdField()
    round = models.ForeignKey("annotation.ReviewRound", on_delete=models.PROTECT, related_name="settlements")
    revision = models.ForeignKey("annotation.Revision", on_delete=models.PROTECT, related_name="settlements")
    outcome = WordField(QuestionState)  # what the question came to be; disputed until an adjudicator decides
    rule = models.CharField(max_length=16)  # version of the settling rule
    reasons = models.JSONField(default=list)  # annotation.review.kernels.settling.Reason; empty: settled by the rule
    settled_at = models.DateTimeField()
    assignment = models.OneToOneField(
        "annotation.Assignment", on_delete=models.PROTECT, null=True, blank=True, related_name="settlement"
    )  # the adjudicator's own review; null: nobody has taken the question
    shown_at = models.DateTimeField(null=True, blank=True)  # when the adjudicator first saw the other reviews
    decision = WordField(BindingVerdict, max_length=8, blank=True, default="")
    reason = ComposedText(blank=True)
    against_all = models.BooleanField(default=False)  # no reviewer had this verdict
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("round", "pk")
        constraints = (models.UniqueConstraint(fields=["round", "revision"], name="settlement_once"),)

    def __str__(self) -> str:
        return f"settlement of revision {self.revision_id} in round {self.round_id}"

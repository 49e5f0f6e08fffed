"""Who reads in a study, and everything that a reader does."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Case, Q, When
from django.db.models.functions import Length

from annotation.enums import EventKind, OptionLetter
from annotation.models.fields import ComposedLine, ComposedText, PublicIdField, Timed, WordField
from annotation.models.people import Invitation
from readerstudy.enums import Refusal, RemarkKind, ResponseState, SessionEnd
from readerstudy.models.design import Arm, CaseSet, ReaderStudy, StudyCase


class StudyInvitation(models.Model):
    """The place in a study that an invitation gives: whoever opens its link becomes a reader."""

    invitation = models.OneToOneField(Invitation, on_delete=models.CASCADE, related_name="to_study")
    study = models.ForeignKey(ReaderStudy, on_delete=models.CASCADE, related_name="invitations")
    case_set = models.ForeignKey(CaseSet, on_delete=models.PROTECT, related_name="+")

    def __str__(self) -> str:
        return f"invitation {self.pk} to study {self.study_id}"


# Readers in tables that leave: by their pseudonym, whose numbers are drawn; those that were imported as in their file
READERS_DRAWN = (Case(When(reader=None, then="pk"), default=0), Length("pseudonym"), "pseudonym")
DECLINED = Q(withdrawn_at__isnull=False, consented_at__isnull=True, replaced_at__isnull=True, orders=None)


class Enrolment(models.Model):
    """One reader in one study. How far the reader has come follows from the times: readerstudy.enrolment.kernels.steps.

    Withdrawing and being replaced are states, never deletions.
    """

    public_id = PublicIdField()
    study = models.ForeignKey(ReaderStudy, on_delete=models.PROTECT, related_name="enrolments")
    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="enrolments"
    )  # null: the readings were made elsewhere and imported
    case_set = models.ForeignKey(CaseSet, on_delete=models.PROTECT, related_name="enrolments")
    invitation = models.OneToOneField(
        StudyInvitation, on_delete=models.PROTECT, null=True, blank=True, related_name="enrolment"
    )
    pseudonym = ComposedLine(max_length=60)  # in every table that leaves the program; drawn at joining
    source = models.CharField(max_length=200, blank=True)  # the file of an imported reader
    enrolled_at = models.DateTimeField()
    consented_at = models.DateTimeField(null=True, blank=True)
    consent_version = models.PositiveSmallIntegerField(null=True, blank=True)
    consent_sha256 = models.CharField(max_length=64, blank=True)  # of the text that was agreed to
    facts = models.JSONField(default=dict, blank=True)  # training, years, fellowship, films per week, display, exposure
    instructed_at = models.DateTimeField(null=True, blank=True)
    display = models.JSONField(default=dict, blank=True)  # steps seen, window size, pixel ratio
    display_checked_at = models.DateTimeField(null=True, blank=True)
    practised_at = models.DateTimeField(null=True, blank=True)  # the practice block is done, and passed if it must be
    deadline_at = models.DateTimeField(null=True, blank=True)  # extended for this reader; null: that of the study
    finished_at = models.DateTimeField(null=True, blank=True)  # the last case of the main block has its answer
    closing = models.JSONField(
        default=dict, db_default={}, blank=True
    )  # remarks; answers to the questionnaire, in its order
    declared_at = models.DateTimeField(null=True, blank=True)  # "no other source was used"
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    replaced_at = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True)  # a pause that goes on now
    reminded_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("study", "enrolled_at", "pk")
        constraints = (
            models.UniqueConstraint(fields=["study", "pseudonym"], name="enrolment_pseudonym_once"),
            models.UniqueConstraint(
                fields=["study", "reader"], condition=Q(reader__isnull=False), name="enrolment_once_per_reader"
            ),
        )

    def __str__(self) -> str:
        return f"{self.pseudonym} in study {self.study_id}"

    @property
    def has_declined(self) -> bool:
        """As DECLINED: before the start, when asked to agree. A study that asks nobody to agree is withdrawn from."""
        has_left = self.withdrawn_at is not None and self.replaced_at is None
        return has_left and self.consented_at is None and not self.orders.exists()


class PresentationOrder(models.Model):
    """The order of the cases for one reader and arm, drawn at freeze. More are drawn than readers are invited."""

    study = models.ForeignKey(ReaderStudy, on_delete=models.PROTECT, related_name="orders")
    arm = models.ForeignKey(Arm, on_delete=models.PROTECT, related_name="+")
    case_set = models.ForeignKey(CaseSet, on_delete=models.PROTECT, related_name="orders")
    number = models.PositiveSmallIntegerField()  # within the set; which of a group a reader takes is drawn
    enrolment = models.ForeignKey(Enrolment, on_delete=models.PROTECT, null=True, blank=True, related_name="orders")
    rule = models.CharField(max_length=20)  # version of the rule that drew it

    class Meta:
        ordering = ("study", "case_set", "number")
        constraints = (
            models.UniqueConstraint(fields=["arm", "case_set", "number"], name="order_number_once"),
            models.UniqueConstraint(
                fields=["enrolment", "arm"], condition=Q(enrolment__isnull=False), name="order_once_per_reader"
            ),
        )

    def __str__(self) -> str:
        return f"order {self.number} of set {self.case_set_id}"


class PresentedCase(models.Model):
    """One place of an order: which case, with its options in which order. Its name tells nothing about either."""

    public_id = PublicIdField()
    order = models.ForeignKey(PresentationOrder, on_delete=models.PROTECT, related_name="places")
    block = models.CharField(max_length=8)  # practice comes first, in the same order for everybody
    position = models.PositiveIntegerField()  # 1, 2, 3 in its block
    case = models.ForeignKey(StudyCase, on_delete=models.PROTECT, related_name="+")
    options = models.CharField(max_length=4, default="ABCD")  # canonical options in the order shown

    class Meta:
        ordering = ("order", "-block", "position")
        constraints = (
            models.UniqueConstraint(fields=["order", "block", "position"], name="presented_position_once"),
            models.UniqueConstraint(fields=["order", "case"], name="presented_case_once"),
        )

    def __str__(self) -> str:
        return f"place {self.position} of order {self.order_id}"


class ReadingSession(models.Model):
    """One sitting on one page of one device. The one without an end holds the write lease; others only look on."""

    public_id = PublicIdField()  # the lease: sent with everything that the page writes
    enrolment = models.ForeignKey(Enrolment, on_delete=models.PROTECT, related_name="sessions")
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    end = WordField(SessionEnd, max_length=10, blank=True)
    device = models.JSONField(default=dict, blank=True)  # browser, window, screen, pixel ratio

    class Meta:
        ordering = ("enrolment", "started_at", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=["enrolment"], condition=models.Q(ended_at__isnull=True), name="one_writer_per_reader"
            ),
        )

    def __str__(self) -> str:
        return f"session {self.public_id}"


class Reading(models.Model):
    """One reader on one case in one arm: made when the case is opened, and never moved back."""

    public_id = PublicIdField()
    enrolment = models.ForeignKey(Enrolment, on_delete=models.PROTECT, related_name="readings")
    case = models.ForeignKey(StudyCase, on_delete=models.PROTECT, related_name="readings")
    arm = models.ForeignKey(Arm, on_delete=models.PROTECT, related_name="+")
    presented = models.OneToOneField(
        PresentedCase, on_delete=models.PROTECT, null=True, blank=True, related_name="reading"
    )  # null: read elsewhere
    position = models.PositiveIntegerField(null=True, blank=True)  # in the order of this reader, where it is known
    opened_at = models.DateTimeField(null=True, blank=True)
    painted_at = models.DateTimeField(null=True, blank=True)  # when the server heard of the first painted
    deadline_at = models.DateTimeField(null=True, blank=True)  # of a case with a time limit; never moved later
    choice = models.CharField(max_length=1, blank=True)  # canonical option, saved before it is confirmed
    choice_sequence = models.PositiveIntegerField(default=0)  # counted by the page; an older one changes nothing
    closed_at = models.DateTimeField(null=True, blank=True)  # the first response of any kind is stored

    class Meta:
        ordering = ("enrolment", "position")
        constraints = (
            models.UniqueConstraint(fields=["enrolment", "case", "arm"], name="reading_once"),
            models.UniqueConstraint(
                fields=["enrolment"],
                condition=models.Q(closed_at__isnull=True),
                name="one_open_case_per_reader",
            ),
        )
        indexes = (models.Index(fields=["deadline_at"], name="reading_due", condition=models.Q(closed_at=None)),)

    def __str__(self) -> str:
        return f"reading {self.public_id}"


_WITH_OPTION = (ResponseState.ANSWERED, ResponseState.UNCONFIRMED)
_EITHER = (ResponseState.LATE,)  # an option, or "cannot tell"
_SAYS_WHAT_ITS_STATE_SAYS = (
    models.Q(state__in=_EITHER)
    | models.Q(models.Q(state__in=_WITH_OPTION) & ~models.Q(option=""))
    | models.Q(~models.Q(state__in=_WITH_OPTION) & models.Q(option=""))
)


class Response(Timed):
    """How a reading ended. Insert-only, by triggers.

    A reading has at most one confirmed response, which is final. Where the time ended first it also has an
    unconfirmed one, and another for each newer choice that was made in time and arrived afterwards: the newest counts,
    until a commit that was in transit is stored beside them and takes their place.
    """

    reading = models.ForeignKey(Reading, on_delete=models.PROTECT, related_name="responses")
    is_confirmed = models.BooleanField()  # committed by the reader; False: closed by the program
    state = WordField(ResponseState, max_length=12)
    option = WordField(OptionLetter, max_length=1, blank=True)  # canonical, whatever stood where on screen
    choice_sequence = models.PositiveIntegerField(default=0)  # of the choice with which the program closed the case
    key = models.CharField(max_length=36, blank=True)  # idempotency key of the commit, made by the page
    delivered_late = models.BooleanField(default=False)  # made in time, received after the limit or the close
    limit_ms = models.PositiveBigIntegerField(null=True, blank=True)  # censoring of a late or unconfirmed time
    source = models.CharField(max_length=200, blank=True)  # file and row of an imported response
    committed_at = models.DateTimeField(null=True, blank=True)  # by the server's clock: when it arrived
    stored_at = models.DateTimeField()

    class Meta:
        ordering = ("reading", "is_confirmed", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=["reading"], condition=models.Q(is_confirmed=True), name="one_final_response"
            ),
            models.UniqueConstraint(
                fields=["reading", "choice_sequence"],
                condition=models.Q(is_confirmed=False),
                name="one_close_for_each_choice",
            ),
            models.CheckConstraint(condition=_SAYS_WHAT_ITS_STATE_SAYS, name="response_option_fits_its_state"),
        )

    def __str__(self) -> str:
        return f"response to reading {self.reading_id}"


class RefusedAnswer(models.Model):
    """An answer that arrived and is not the answer of its place: a replay with another option, a lost lease.

    Insert-only. Nothing that a reader sent is dropped unseen, even where the place was never opened.
    """

    presented = models.ForeignKey(PresentedCase, on_delete=models.PROTECT, related_name="refused_answers")
    reason = WordField(Refusal, max_length=16)
    option = models.CharField(max_length=1, blank=True)
    key = models.CharField(max_length=36)
    session = models.CharField(max_length=16, blank=True)
    at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["presented", "key", "reason"], name="refused_answer_once"),)

    def __str__(self) -> str:
        return f"refused answer to place {self.presented_id}"


class Remark(models.Model):
    """What the reader remarked on a case beside the answer. Insert-only; the newest of a kind counts."""

    reading = models.ForeignKey(Reading, on_delete=models.PROTECT, related_name="remarks")
    kind = WordField(RemarkKind, max_length=10)
    value = models.CharField(max_length=10, blank=True)  # the chance in percent; the option that was guessed or meant
    text = ComposedText(blank=True)
    key = models.CharField(max_length=36)  # made by the page: sending it twice stores it once
    at = models.DateTimeField()

    class Meta:
        ordering = ("reading", "pk")
        constraints = (models.UniqueConstraint(fields=["reading", "key"], name="remark_once"),)

    def __str__(self) -> str:
        return f"{self.kind} of reading {self.reading_id}"


class TimingEvent(models.Model):
    """One thing that the page reported of the clock of a case. Insert-only, by triggers; page and sequence name it.

    ``opened`` is written by the server, under the page "server".
    """

    reading = models.ForeignKey(Reading, on_delete=models.PROTECT, related_name="events", db_index=False)
    session = models.ForeignKey(
        ReadingSession, on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    page = models.CharField(max_length=36)
    sequence = models.PositiveIntegerField()
    kind = WordField(EventKind, max_length=10)
    client_ms = models.FloatField()
    wall_ms = models.FloatField(null=True, blank=True)
    received_at = models.DateTimeField()
    details = models.JSONField(default=dict)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["reading", "page", "sequence"], name="timing_event_once"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.sequence} of page {self.page[:8]}"

"""A leaderboard: a bank frozen as a benchmark, teams, what they send, and editions in which all is scored at once.

Between editions nothing that depends on a key is computed or stored for a submission: its answers stand here as letters
in the order of the benchmark, and in no table of predictions. What an edition published never changes.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.models.fields import ComposedLine, ComposedText, PublicIdField, WordField, a_person_or_none
from readerstudy.enums import BenchmarkState, SubmissionState, SubmissionWay, TeamState


class Benchmark(models.Model):
    """Questions of one bank, which teams answer and nobody sees the keys of."""

    name = ComposedLine(_("name"), max_length=100)
    slug = models.SlugField(max_length=80, unique=True)
    about = ComposedText(_("what it measures, for its public page"), blank=True)
    contact = ComposedLine(_("contact"), max_length=200)
    bank = models.ForeignKey("annotation.QuestionBank", on_delete=models.PROTECT, related_name="+")
    state = WordField(BenchmarkState, max_length=8, default=BenchmarkState.DRAFT)
    # near-duplicates in public banks that stay: reasons by number of the question, "all" for the rest
    decisions = models.JSONField(default=dict, blank=True)
    created_by = a_person_or_none()  # null: made on the command line
    created_at = models.DateTimeField()
    frozen_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return self.name


class BenchmarkVersion(models.Model):
    """The questions as they are asked and keyed from a day on. Never changed; 1 is what was frozen."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveSmallIntegerField()
    protocol = models.TextField()  # canonical JSON of what everybody may read; keys behind a commitment
    protocol_sha256 = models.CharField(max_length=64)
    keys_salt = models.CharField(max_length=64)  # opens the commitment
    changes = models.JSONField(default=list, blank=True)  # against the version before: question, what, why; never keys
    made_by = a_person_or_none()
    made_at = models.DateTimeField()

    class Meta:
        ordering = ("benchmark", "number")
        constraints = (models.UniqueConstraint(fields=["benchmark", "number"], name="benchmark_version_once"),)

    def __str__(self) -> str:
        return f"version {self.number} of benchmark {self.benchmark_id}"


class BenchmarkQuestion(models.Model):
    """One question of a version. Never changed.

    Its name, which is all that teams see of it, belongs to a wording: with another key it stays, with another wording
    it is another.
    """

    version = models.ForeignKey(BenchmarkVersion, on_delete=models.PROTECT, related_name="questions", db_index=False)
    place = models.PositiveIntegerField()  # from 0, in an order of its own
    name = models.CharField(max_length=16)
    revision = models.ForeignKey("annotation.Revision", on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ("version", "place")
        constraints = (
            models.UniqueConstraint(fields=["version", "place"], name="benchmark_place_once"),
            models.UniqueConstraint(fields=["version", "name"], name="benchmark_name_once"),
        )

    def __str__(self) -> str:
        return self.name


class Team(models.Model):
    """Who answers for the submissions of a model. Its name shows once a coordinator has approved it."""

    public_id = PublicIdField()
    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="teams")
    name = ComposedLine(_("name"), max_length=100)
    institution = models.CharField(_("institution"), max_length=200)
    contact = models.EmailField(_("contact"))
    link = models.URLField(_("link"), max_length=500, blank=True)
    anonymous_until = models.DateField(_("anonymous until"), null=True, blank=True)
    state = WordField(TeamState, max_length=8, default=TeamState.ASKED)
    asked_by = a_person_or_none()
    asked_at = models.DateTimeField()
    decided_by = a_person_or_none()
    decided_at = models.DateTimeField(null=True, blank=True)
    refused_because = ComposedText(blank=True)

    class Meta:
        ordering = ("benchmark", "name", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=["benchmark", "name"], condition=~Q(state="refused"), name="team_of_benchmark_once"
            ),
        )

    def __str__(self) -> str:
        return self.name


class TeamMember(models.Model):
    """A person is in one team of a benchmark, and has seen no key of it."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="members")
    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="+", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    added_at = models.DateTimeField()

    class Meta:
        ordering = ("team", "pk")
        constraints = (models.UniqueConstraint(fields=["benchmark", "user"], name="one_team_of_benchmark"),)

    def __str__(self) -> str:
        return f"person {self.user_id} in team {self.team_id}"


class Statement(models.Model):
    """What a team says of its model, by the list in readerstudy/leaderboard/kernels/statement.py. Never changed; it
    shows once a coordinator has passed it.
    """

    public_id = PublicIdField()
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="statements")
    number = models.PositiveSmallIntegerField()  # 1, 2, 3 of this team
    form = models.CharField(max_length=20)  # the list of questions that it answers
    answers = models.JSONField()
    made_by = a_person_or_none()
    made_at = models.DateTimeField()
    passed_by = a_person_or_none()
    passed_at = models.DateTimeField(null=True, blank=True)
    refused_because = ComposedText(blank=True)

    class Meta:
        ordering = ("team", "number")
        constraints = (models.UniqueConstraint(fields=["team", "number"], name="statement_once"),)

    def __str__(self) -> str:
        return f"statement {self.number} of team {self.team_id}"


class Submission(models.Model):
    """The answers of one model to a version of a benchmark. The same file of a team again is the same submission."""

    public_id = PublicIdField()
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="submissions")
    version = models.ForeignKey(BenchmarkVersion, on_delete=models.PROTECT, related_name="submissions")
    number = models.PositiveIntegerField()  # 1, 2, 3 of this team
    # needed before it is named for an edition
    statement = models.ForeignKey(Statement, models.PROTECT, null=True, blank=True, related_name="submissions")
    way = WordField(SubmissionWay, max_length=8, default=SubmissionWay.FILE)
    model_run = models.ForeignKey("ModelRun", models.PROTECT, null=True, blank=True, related_name="submissions")
    file_name = models.CharField(max_length=200)
    file_sha256 = models.CharField(max_length=64)
    duplicates = models.CharField(max_length=5, blank=True)  # which of several answers counts: "first", "last"
    rule = models.CharField(max_length=20, blank=True)  # of extraction; empty: not checked yet
    report = models.JSONField(default=dict, blank=True)  # of the check: nothing in it depends on a key
    is_sound = models.BooleanField(default=False)  # the check passed
    # a letter for each question in the order of the version, "?" failed extraction, "-" missing; empty: not sound
    answers = models.TextField(blank=True)
    answers_sha256 = models.CharField(max_length=64, blank=True)
    sent_by = a_person_or_none()
    received_at = models.DateTimeField()
    checked_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_because = ComposedText(blank=True)

    class Meta:
        ordering = ("team", "number")
        constraints = (
            models.UniqueConstraint(fields=["team", "number"], name="submission_number_once"),
            models.UniqueConstraint(
                fields=["team", "version", "file_sha256", "duplicates"], name="submission_of_file_once"
            ),
            models.CheckConstraint(
                condition=Q(is_sound=False, answers="") | Q(is_sound=True) & ~Q(answers=""), name="sound_has_answers"
            ),
        )

    def __str__(self) -> str:
        return f"submission {self.number} of team {self.team_id}"

    @property
    def state(self) -> SubmissionState:
        """By its times; asks for its entries, which ``prefetch_related("entries__edition")`` loads for many."""
        if self.withdrawn_at:
            return SubmissionState.WITHDRAWN
        entries = list(self.entries.all())
        if any(one.edition.published_at for one in entries):
            return SubmissionState.PUBLISHED
        if entries:
            return SubmissionState.NAMED
        if self.checked_at:
            return SubmissionState.CHECKED if self.is_sound else SubmissionState.FAILED
        return SubmissionState.RECEIVED


class Edition(models.Model):
    """A date on which everything that is named is scored at once. Two persons confirm it."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="editions", db_index=False)
    number = models.PositiveSmallIntegerField()  # 1 is the first
    due_on = models.DateField(_("date"))  # until its end, in UTC, teams name a submission
    proposed_by = a_person_or_none()  # the first of the two persons
    proposed_at = models.DateTimeField(null=True, blank=True)
    confirmed_by = a_person_or_none()
    confirmed_at = models.DateTimeField(null=True, blank=True)
    published_at = models.DateTimeField(null=True, blank=True)  # its first result is stored

    class Meta:
        ordering = ("benchmark", "number")
        constraints = (models.UniqueConstraint(fields=["benchmark", "number"], name="edition_once"),)

    def __str__(self) -> str:
        return f"edition {self.number} of benchmark {self.benchmark_id}"


class EditionEntry(models.Model):
    """The submission that a team named for an edition. It can name another one until the end of the date."""

    public_id = PublicIdField()
    edition = models.ForeignKey(Edition, on_delete=models.PROTECT, related_name="entries", db_index=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="entries")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="entries")
    named_by = a_person_or_none()
    named_at = models.DateTimeField()

    class Meta:
        ordering = ("edition", "pk")
        constraints = (models.UniqueConstraint(fields=["edition", "team"], name="one_entry_of_team"),)

    def __str__(self) -> str:
        return f"entry of team {self.team_id} in edition {self.edition_id}"


class EditionResult(models.Model):
    """An edition as it was scored on one version: never changed. A later version gets a result beside the first."""

    edition = models.ForeignKey(Edition, on_delete=models.PROTECT, related_name="results", db_index=False)
    version = models.ForeignKey(BenchmarkVersion, on_delete=models.PROTECT, related_name="results")
    result = models.TextField()  # canonical JSON of all that is published, rounded as it is shown
    result_sha256 = models.CharField(max_length=64)
    scored_by = a_person_or_none()
    scored_at = models.DateTimeField()

    class Meta:
        ordering = ("edition", "version")
        constraints = (models.UniqueConstraint(fields=["edition", "version"], name="edition_scored_once"),)

    def __str__(self) -> str:
        return f"result of edition {self.edition_id} on version {self.version_id}"


class PublishedNumber(models.Model):
    """The ledger: a number that left, what it is, by which rule, and from which submissions. Never changed."""

    result = models.ForeignKey(EditionResult, on_delete=models.PROTECT, related_name="numbers")
    # null: of no entry, such as chance or the readers
    submission = models.ForeignKey(Submission, models.PROTECT, null=True, blank=True, related_name="numbers")
    what = models.CharField(max_length=200)  # "all", "task_mean", "task:...", "difference to ..."
    value = models.JSONField()  # as it was shown, with interval and n
    rule = models.CharField(max_length=40)
    answers = models.JSONField(default=list, blank=True)  # hashes of the answers from which it was computed
    told_to = models.CharField(max_length=40, default="everybody")
    at = models.DateTimeField()

    class Meta:
        ordering = ("result", "pk")

    def __str__(self) -> str:
        return f"{self.what} of result {self.result_id}"


class BoardNote(models.Model):
    """A dispute or correction that everybody reads beside an entry or a benchmark. Never changed."""

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="notes")
    # null: about the benchmark
    submission = models.ForeignKey(Submission, models.PROTECT, null=True, blank=True, related_name="notes")
    text = ComposedText()
    made_by = a_person_or_none()
    made_at = models.DateTimeField()

    class Meta:
        ordering = ("benchmark", "pk")

    def __str__(self) -> str:
        return f"note {self.pk} on benchmark {self.benchmark_id}"

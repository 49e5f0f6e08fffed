from __future__ import annotations

from django.db import models

from annotation.enums import EventKind
from annotation.models.fields import WordField


class Timed(models.Model):
    """What is stored with a final step: how long it took, by which rule, and how the images stood."""

    active_ms = models.PositiveBigIntegerField(null=True, blank=True)  # null: time_flags say why
    elapsed_ms = models.PositiveBigIntegerField(null=True, blank=True)
    n_sittings = models.PositiveIntegerField(null=True, blank=True)  # 2: the case was taken up again later
    time_rule = models.CharField(max_length=20, blank=True)  # empty: stored before there was a clock
    time_flags = models.JSONField(default=list)  # annotation.case.kernels.time_flags.TimeFlag
    time_parts = models.JSONField(null=True, blank=True)  # taken off, in ms: annotation.case.kernels.time_flags.PARTS
    unreadable = models.JSONField(default=list)  # public ids of images that the person could not read
    viewport = models.JSONField(null=True, blank=True)  # window, zoom, pan, invert of each view

    class Meta:
        abstract = True


class ReviewEvent(models.Model):
    """One thing that the clock of a case told. Insert-only, held by triggers; page and sequence name it.

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

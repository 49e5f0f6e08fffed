"""Exams and images of a bank: what is known of them, and the bytes that the screen gets."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.reverse import reverse

from annotation.api.bodies import SentBody
from annotation.api.resources import ListOf, OneOf, Resource, Shown
from annotation.api.shown_fields import Moment, WordChoice
from annotation.enums import ImageState, Role, Sex, ViewPosition
from annotation.forms.images import SIDES
from annotation.ingest.describing import images_of_banks
from annotation.ingest.serving import SERVED, serve_rendition
from annotation.models import Exam, Image, Rendition
from annotation.views.ingest.images import KEEP, accepts_zstd, bytes_response


class ImageShape(Shown):
    id = serializers.CharField(source="public_id")
    exam = serializers.CharField(source="exam.public_id")
    bank = serializers.SlugField(source="exam.bank.slug", default=None, allow_null=True)
    position = serializers.IntegerField(help_text="in the order of the exam")
    state = WordChoice(ImageState)
    state_reason = serializers.CharField()
    view_position = WordChoice(ViewPosition)
    laterality = serializers.CharField()
    modality = serializers.CharField()
    rows = serializers.IntegerField(allow_null=True)
    columns = serializers.IntegerField(allow_null=True)
    attribution = serializers.CharField()
    licence = serializers.CharField()
    simulated = serializers.BooleanField()
    ingested_at = Moment(allow_null=True)
    renditions = serializers.SerializerMethodField(help_text="addresses by kind; none while nobody may see the image")

    def get_renditions(self, image: Image) -> dict[str, str]:
        if image.state != ImageState.AVAILABLE:
            return {}
        request = self.context["view"].request
        kept = [one for one in image.renditions.all() if one.kind in SERVED]
        return {one.kind: reverse("api-rendition", args=[one.name], request=request) for one in kept}


class ImageFilters(django_filters.FilterSet):
    bank = django_filters.CharFilter(field_name="exam__bank__slug")
    exam = django_filters.CharFilter(field_name="exam__public_id")
    state = django_filters.ChoiceFilter(choices=[(word.value, word.label) for word in ImageState])


class _OfImages(Resource):
    roles = (Role.COORDINATOR,)
    reach = {"bank": "exam__bank"}
    shape = ImageShape

    def rows(self) -> QuerySet[Image]:
        return images_of_banks().prefetch_related("renditions")


class Images(_OfImages, ListOf[Image]):
    """Images, with or without pixels."""

    filters = ImageFilters
    summary = "List images"


class OneImage(_OfImages, OneOf[Image]):
    """One image."""

    summary = "Read one image"


class CreditsSent(SentBody):
    attribution = serializers.CharField(max_length=300, allow_blank=True)
    licence = serializers.CharField(max_length=100, allow_blank=True)


class ViewSent(SentBody):
    view_position = WordChoice(ViewPosition)
    laterality = serializers.ChoiceField(choices=[code for code, _label in SIDES], default="", allow_blank=True)


class QuarantineSent(SentBody):
    reason = serializers.CharField(max_length=300)


class ExamShape(Shown):
    id = serializers.CharField(source="public_id")
    bank = serializers.SlugField(source="bank.slug", default=None, allow_null=True)
    age_years = serializers.IntegerField(allow_null=True, help_text="90 means 90 or older")
    sex = WordChoice(Sex)
    prior = serializers.CharField(source="prior.public_id", default=None, allow_null=True)
    images = serializers.SerializerMethodField(help_text="their ids, in the order of the exam")

    def get_images(self, exam: Exam) -> list[str]:
        return [image.public_id for image in exam.images.all()]


class ExamFilters(django_filters.FilterSet):
    bank = django_filters.CharFilter(field_name="bank__slug")


class _OfExams(Resource):
    roles = (Role.COORDINATOR,)
    reach = {"bank": "bank"}
    shape = ExamShape

    def rows(self) -> QuerySet[Exam]:
        rows = Exam.objects.filter(bank__deleted_at__isnull=True)
        return rows.select_related("bank", "prior").prefetch_related("images")


class Exams(_OfExams, ListOf[Exam]):
    """Exams with their images. Their names at the source are not shown."""

    filters = ExamFilters
    summary = "List exams"


class OneExam(_OfExams, OneOf[Exam]):
    """One exam."""

    summary = "Read one exam"


class RenditionBytes(Resource):
    """The bytes of an available image as the viewer gets them: a WebP preview, or 16 bits packed with zstd or gzip."""

    roles = (Role.COORDINATOR,)
    reach = {"bank": "image__exam__bank"}
    summary = "Read the pixels of an image"
    content_types = ("image/webp", "application/octet-stream")

    def get(self, request: Request, **named: Any) -> HttpResponse:
        get_object_or_404(self.in_reach(Rendition.objects.all()), name=named["name"])
        zstd, now = accepts_zstd(request._request), timezone.now()
        served = serve_rendition(named["name"], person=self.person, accepts_zstd=zstd, at=now)
        return bytes_response(served, KEEP)

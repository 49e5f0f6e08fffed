"""Banks: listed, made, read, archived; their exams and images, and questions that are near each other."""

from __future__ import annotations

from typing import Any, ClassVar

import django_filters
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.acts.files import KEEP, accepts_zstd, bytes_response
from annotation.api.bodies import BodyRefused, Moment, SentBody, WordChoice
from annotation.api.model_calls.validator_list import OfJudgedBank
from annotation.api.resources import ListOf, OneOf, OnlyPost, Resource, Shown
from annotation.api.site_lists import JobShape
from annotation.enums import ImageState, ImportKind, ImportState, Role, Sex, ViewPosition
from annotation.exports import releases
from annotation.forms.images import SIDES
from annotation.ingest.describing import images_of_banks
from annotation.ingest.serving import SERVED, serve_rendition
from annotation.models import Exam, Finding, Image, Job, QuestionBank, Rendition
from annotation.models.calls import LONGEST_MODEL
from annotation.models.fields import AsRead
from annotation.people.kept_answers import MadeAnswer
from annotation.questionbank.bank_life import LONGEST_NAME, make_bank
from annotation.questionbank.checking import COMPARISON
from annotation.questionbank.kernels.rules import BANKWIDE
from annotation.questionbank.listing import n_questions
from annotation.validators import embedded_questions
from annotation.validators.embedded_questions import (
    ask_for_comparison,
    ask_for_embedding,
    embeddings_of,
    plan_embedding,
    similar_found,
)


class BankShape(Shown):
    id = serializers.SlugField(source="slug", help_text="its readable address")
    name = serializers.CharField()
    n_questions = serializers.SerializerMethodField()
    is_public = serializers.BooleanField()
    simulated = serializers.BooleanField()
    terms = serializers.CharField()
    created_at = Moment()
    archived_at = Moment(allow_null=True)

    def get_n_questions(self, bank: QuestionBank) -> int:
        published = [one for one in bank.imports.all() if one.state == ImportState.PUBLISHED]
        return n_questions(one for one in published if one.kind != ImportKind.EDITS)


class BankSent(SentBody):
    name = serializers.CharField(max_length=LONGEST_NAME)
    simulated = serializers.BooleanField(default=False, help_text="all of its questions and images are made up")


class BankFilters(django_filters.FilterSet):
    archived = django_filters.BooleanFilter(field_name="archived_at", lookup_expr="isnull", exclude=True)
    name = django_filters.CharFilter(lookup_expr="holds")


class _OfBanks(Resource):
    roles: ClassVar[tuple[Role, ...]] = (Role.COORDINATOR, Role.ADMINISTRATOR)
    writers: ClassVar[tuple[Role, ...] | None] = (Role.COORDINATOR,)
    reach = {"bank": "pk"}
    shape: ClassVar[type[Shown]] = BankShape

    def rows(self) -> QuerySet[QuestionBank]:
        return QuestionBank.objects.prefetch_related("imports")


class Banks(_OfBanks, ListOf[QuestionBank]):
    """Question banks. A POST makes an empty one; of sessions alone, since a token is good in a place that is there."""

    body = BankSent
    sorted_by = {"name": AsRead("name"), "created_at": "created_at"}
    filters = BankFilters
    makes, status = True, 201
    summary, post_summary = "List banks", "Make a bank"

    def post(self, request: Request, **named: Any) -> Response:
        if self.person.limits is not None:
            raise PermissionDenied(
                _("A token is good in one place and makes no other. Make the bank first, then a token for it.")
            )
        sent = self.sent(BankSent)

        def make() -> MadeAnswer:
            bank = make_bank(**sent, **self.by())
            return self.made(bank, "api-bank", bank.slug)

        return self.once(make)


class OneBank(_OfBanks, OneOf[QuestionBank]):
    """One question bank."""

    lookup = "slug"
    summary = "Read one bank"


JOBS = (COMPARISON, embedded_questions.KIND, releases.KIND)


class BankJob(OfJudgedBank, OneOf[Job]):
    """A comparison, vectors or a release with images that were asked for: how far it is."""

    shape = JobShape
    summary = "Read a job of a bank"

    def rows(self) -> QuerySet[Job]:
        return Job.objects.filter(kind__in=JOBS, params__bank=self.bank.pk).select_related("created_by")


class AsksBankJob(OnlyPost, OfJudgedBank):
    """202: a job does it, and the address says how far it is. One that waits or runs already is enough."""

    shape: ClassVar[type[Shown]] = JobShape
    makes, status = True, 202

    def asked_for(self, job: Job) -> MadeAnswer:
        return self.made(job, "api-bank-job", self.kwargs["slug"], job.public_id)


# --- near-duplicates --------------------------------------------------------------------------------
class SimilarShape(Shown):
    id = serializers.CharField(source="public_id", help_text="of the finding")
    rule = serializers.CharField()
    detail = serializers.CharField(help_text="how similar they are")
    question = serializers.IntegerField(source="revision.question.number")
    other_bank = serializers.SlugField(source="other.question.bank.slug", default=None, allow_null=True)
    other_question = serializers.IntegerField(source="other.question.number", default=None, allow_null=True)
    found_at = Moment()


class SimilarFilters(django_filters.FilterSet):
    rule = django_filters.ChoiceFilter(choices=[(code, code) for code in BANKWIDE])


class NearDuplicates(OfJudgedBank, ListOf[Finding]):
    """Pairs of questions that are nearly the same, within the bank and in public banks."""

    shape = SimilarShape
    filters = SimilarFilters
    newest_first = False
    summary = "List near-duplicates of a bank"

    def rows(self) -> QuerySet[Finding]:
        return similar_found(self.bank, self.person)


class CompareSent(SentBody):
    across = serializers.BooleanField(default=False, help_text="with public banks; else with each other")
    released = serializers.BooleanField(default=False, help_text="with what this and other banks released")


class CompareBank(AsksBankJob):
    """Compare the questions of a bank with each other, with those of public banks, or with released ones."""

    body = CompareSent
    summary = "Look for near-duplicates"

    def post(self, request: Request, **named: Any) -> Response:
        bank, sent = self.bank, self.sent(CompareSent)
        return self.once(lambda: self.asked_for(ask_for_comparison(bank, **sent, **self.by())))


class EmbeddingShape(Shown):
    id = serializers.CharField(source="embedding.public_id")
    endpoint = serializers.CharField(source="embedding.endpoint", help_text="or folder:NAME of the server")
    model = serializers.CharField(source="embedding.model")
    threshold = serializers.FloatField(source="embedding.threshold", allow_null=True, help_text="that a person set")
    n_vectors = serializers.IntegerField()
    n_questions = serializers.IntegerField()


class EmbeddingsShape(Shown):
    embeddings = EmbeddingShape(many=True)


class BankEmbeddings(OfJudgedBank, OneOf[Finding]):
    """Embeddings that know a question of the bank, and how many of them."""

    shape = EmbeddingsShape
    summary = "List embeddings of a bank"

    def get(self, request: Request, **named: Any) -> Response:
        return self.conditional(self.shown({"embeddings": embeddings_of(self.bank)}, self.only()))


class EmbedSent(SentBody):
    endpoint = serializers.CharField(max_length=200, help_text="its name, or folder:NAME of the server")
    model = serializers.CharField(max_length=LONGEST_MODEL, default="", allow_blank=True)
    confirmed_texts = serializers.IntegerField(
        min_value=0, max_value=999_999_999, default=0, help_text="how many texts are sent; 409 tells it"
    )


class EmbedBank(AsksBankJob):
    """Ask a model for the vectors of questions that have none. Where texts are sent, their number must be confirmed."""

    body = EmbedSent
    summary = "Ask for vectors of questions"

    def post(self, request: Request, **named: Any) -> Response:
        bank, sent = self.bank, self.sent(EmbedSent)

        def ask() -> MadeAnswer:
            who = self.by()
            n = plan_embedding(bank, sent["endpoint"], sent["model"], at=who["at"]).n_to_send
            if n != sent["confirmed_texts"]:
                sentence = _("%(n)s texts are sent to the model. Nothing was sent: send this number to confirm.")
                raise BodyRefused("not_confirmed", sentence % {"n": n}, status=409, n=n)
            return self.asked_for(ask_for_embedding(bank, sent["endpoint"], sent["model"], **who))

        return self.once(ask)


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

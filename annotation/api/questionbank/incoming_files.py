"""Files that come in: images, and questions. Each is taken by a job; the address of the upload says how far it is."""

from __future__ import annotations

from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.bodies import SentBody
from annotation.api.questionbank.question_list import bank_named
from annotation.api.resources import ListOf, OneOf, Resource, Shown
from annotation.api.shown_fields import Moment, PersonName, WordChoice
from annotation.enums import JobState, Role
from annotation.ingest import uploading
from annotation.jobs.access import facts_of_result, refusals_of
from annotation.models import Job, QuestionBank, Upload
from annotation.people.kept_answers import MadeAnswer
from annotation.questionbank import uploads as question_files

READERS: tuple[Role, ...] = (Role.COORDINATOR, Role.ADMINISTRATOR)
WRITERS: tuple[Role, ...] = (Role.COORDINATOR,)


class UploadShape(Shown):
    id = serializers.CharField(source="public_id")
    bank = serializers.SlugField(source="bank.slug", default=None, allow_null=True)
    n_files = serializers.IntegerField()
    n_bytes = serializers.IntegerField()
    created_by = PersonName()
    created_at = Moment()
    archived_at = Moment(allow_null=True)
    state = WordChoice(JobState, source="job.state", default=None, allow_null=True, help_text="of its job")
    message = serializers.CharField(source="job.message", default="")
    error = serializers.CharField(source="job.error", default="", help_text="why its job failed")
    done = serializers.IntegerField(source="job.progress_done", default=0)
    total = serializers.IntegerField(source="job.progress_total", default=0)
    result = serializers.SerializerMethodField(help_text="counts, once the job is done")
    refusals = serializers.SerializerMethodField(help_text="what was not taken, with the reason")

    def get_result(self, upload: Upload) -> dict[str, Any]:
        job = self.job_of(upload)
        return facts_of_result(job) if job else {}

    def get_refusals(self, upload: Upload) -> list[Any]:
        job = self.job_of(upload)
        return refusals_of(job) if job else []

    def job_of(self, upload: Upload) -> Job | None:
        return upload.job


class ImagesSent(SentBody):
    files = serializers.ListField(child=serializers.FileField(), help_text="DICOM, PNG, JPEG or ZIP")
    bank = serializers.SlugField(help_text="the bank that waits for them")
    credits = serializers.FileField(required=False, help_text="CSV: file, attribution, licence")


class UploadFilters(django_filters.FilterSet):
    bank = django_filters.CharFilter(field_name="bank__slug")
    archived = django_filters.BooleanFilter(field_name="archived_at", lookup_expr="isnull", exclude=True)


class _OfUploads(Resource):
    roles: ClassVar[tuple[Role, ...]] = READERS
    reach = {"bank": "bank"}
    shape: ClassVar[type[Shown]] = UploadShape

    def rows(self) -> QuerySet[Upload]:
        return uploading.uploads_of_images()


class Uploads(_OfUploads, ListOf[Upload]):
    """Uploads of images. A POST takes files, checks their names and sizes, and answers 202: a job takes them in."""

    writers = WRITERS
    parser_classes = [MultiPartParser]
    body = ImagesSent
    filters = UploadFilters
    makes, status = True, 202
    summary, post_summary = "List uploads of images", "Upload images"

    def post(self, request: Request, **named: Any) -> Response:
        sent = self.sent(ImagesSent)
        bank = bank_named(self.person, sent["bank"])
        files = [uploading.SentFile(file.name, file) for file in sent["files"]]
        table = sent["credits"].read() if "credits" in sent else None

        def keep() -> MadeAnswer:
            kept = uploading.keep_upload(files, credits_table=table, bank=bank, **self.by())
            address = reverse("api-upload", args=[kept.public_id])
            return MadeAnswer(202, self.shown(kept), address)

        return self.once(keep)


class OneUpload(_OfUploads, OneOf[Upload]):
    """One upload of images: how far its job is, and what became of the files."""

    summary = "Read one upload"


class ImportShape(UploadShape):
    """Of the job that stores the file, or while there is none of the one that checks it."""

    bank = serializers.CharField(source="asked.bank", help_text="name of the bank")  # type: ignore[assignment]
    file = serializers.CharField(source="asked.name")
    is_stored = serializers.SerializerMethodField(help_text="whether its questions are in the bank")
    waits_for_columns = serializers.SerializerMethodField(help_text="its columns have to be matched to fields first")

    def get_is_stored(self, upload: Upload) -> bool:
        return bool(upload.job and (upload.job.result or {}).get("stored"))

    def get_waits_for_columns(self, upload: Upload) -> bool:
        return upload.job is None


class QuestionsSent(SentBody):
    file = serializers.FileField(help_text="JSON, JSON Lines, CSV, XLSX or Parquet")
    difficulties = serializers.FileField(required=False, help_text="CSV: id, difficulty")


class StoreSent(SentBody):
    skip_refused = serializers.BooleanField(default=False, help_text="store what was not refused")


def files_of(bank: QuestionBank) -> QuerySet[Upload]:
    rows = Upload.objects.filter(purpose=question_files.PURPOSE, asked__bank=bank.name)
    return rows.select_related("created_by", "job")


class _OfImports(Resource):
    roles: ClassVar[tuple[Role, ...]] = WRITERS
    reach = None
    shape: ClassVar[type[Shown]] = ImportShape

    def rows(self) -> QuerySet[Upload]:
        return files_of(bank_named(self.person, self.kwargs["slug"]))


class Imports(_OfImports, ListOf[Upload]):
    """Question files for a bank. A POST answers 202: a job checks the file and stores nothing; once it was found good,
    POST to its ``store/``.
    """

    parser_classes = [MultiPartParser]
    body = QuestionsSent
    makes, status = True, 202
    summary, post_summary = "List question files of a bank", "Send a question file"

    def listed(self, rows: Any, cursor: str, only: Any) -> Response:
        return super().listed(question_files.with_newest_jobs(rows), cursor, only)

    def post(self, request: Request, **named: Any) -> Response:
        bank, sent = bank_named(self.person, named["slug"]), self.sent(QuestionsSent)
        question_files.check_takes_questions(bank.name)
        side_file = sent.get("difficulties")

        def receive() -> MadeAnswer:
            kept = question_files.receive_file(
                sent["file"].chunks(),
                sent["file"].name,
                side_file.chunks() if side_file else None,
                bank_name=bank.name,
                **self.by(),
            )
            return MadeAnswer(202, self.shown(kept), reverse("api-import", args=[bank.slug, kept.public_id]))

        return self.once(receive)


class OneImport(_OfImports, OneOf[Upload]):
    """One question file: how far its check or its import is, what would be stored, and what was refused."""

    summary = "Read one import"

    def one(self) -> Upload:
        return question_files.with_newest_jobs([super().one()])[0]


class StoreImport(OneImport):
    """Store a file that was checked and found good. Asking twice stores it once."""

    http_method_names = ["post"]
    body = StoreSent
    status = 202
    summary = "Store a checked question file"

    def post(self, request: Request, **named: Any) -> Response:
        upload = super(OneImport, self).one()
        sent = self.sent(StoreSent)
        question_files.store_checked(upload, skip_refused=sent["skip_refused"], **self.by())
        response = Response(self.shown(self.one()), status=202)
        response["Location"] = reverse("api-import", args=[named["slug"], upload.public_id])
        return response

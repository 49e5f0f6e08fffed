"""Files that come in, images and questions: each is taken by a job; columns of a foreign file matched to fields."""

from __future__ import annotations

from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.bodies import BodyRefused, Moment, PersonName, SentBody, WordChoice
from annotation.api.model_calls.asked_endpoints import OfNoPlace
from annotation.api.questionbank.question_list import bank_named
from annotation.api.resources import ListOf, OneOf, OnlyPost, Resource, Shown
from annotation.enums import JobState, Role
from annotation.ingest import uploading
from annotation.jobs.queueing import facts_of_result, refusals_of
from annotation.models import ColumnMatching, Job, QuestionBank, Upload
from annotation.people.kept_answers import MadeAnswer
from annotation.questionbank import uploads as question_files
from annotation.questionbank.kernels.column_matching import FIELD, FIELDS, KEY_FORMS, LETTER, SEPARATORS, Matching
from annotation.questionbank.matchings import (
    LONGEST_NAME,
    check_matched,
    columns_of,
    delete_matching,
    offer_matching,
    rename_matching,
)

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
            return self.made(kept, "api-upload", kept.public_id)

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
    file = serializers.FileField(help_text="JSON, JSON Lines, CSV, XLSX or Parquet, or a ZIP of these with images")
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
            return self.made(kept, "api-import", bank.slug, kept.public_id)

        return self.once(receive)


class OneImport(_OfImports, OneOf[Upload]):
    """One question file: how far its check or its import is, what would be stored, and what was refused."""

    summary = "Read one import"

    def one(self) -> Upload:
        return question_files.with_newest_jobs([super().one()])[0]


class StoreImport(OnlyPost, OneImport):
    """Store a file that was checked and found good. Asking twice stores it once."""

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


CONSTANT = [one.name for one in FIELDS if one.may_be_constant]


class MatchingShape(Shown):
    name = serializers.CharField()
    columns = serializers.DictField(child=serializers.CharField(), help_text="by field: the column that holds it")
    constants = serializers.DictField(child=serializers.CharField(), help_text="by field: of all questions")
    key_form = serializers.CharField(help_text="empty where the file does not say it: say it when you match")
    separator = serializers.CharField()
    words = serializers.DictField(child=serializers.CharField(), help_text="translated in fields of few words")


class FileColumnsShape(Shown):
    columns = serializers.ListField(child=serializers.CharField(), help_text="of the file, in their order")
    offered = MatchingShape(help_text="to begin with: one that is kept, or a guess by the names")
    fields_known = serializers.ListField(child=serializers.CharField(), help_text="that a column can hold")


class MatchingSent(SentBody):
    name = serializers.CharField(max_length=LONGEST_NAME, help_text="under which it is kept")
    columns = serializers.DictField(
        child=serializers.CharField(trim_whitespace=False), help_text="by field: the column that holds it"
    )
    constants = serializers.DictField(
        child=serializers.CharField(max_length=1000), default=dict, help_text="by field: one value for all questions"
    )
    key_form = serializers.ChoiceField(choices=list(KEY_FORMS.items()), default=LETTER, allow_blank=True)
    separator = serializers.ChoiceField(choices=list(SEPARATORS), default="|", help_text="of values in one cell")
    words = serializers.DictField(child=serializers.CharField(max_length=1000), default=dict)

    def validate_columns(self, value: dict[str, str]) -> dict[str, str]:
        return _known(value, list(FIELD))

    def validate_constants(self, value: dict[str, str]) -> dict[str, str]:
        return _known(value, CONSTANT)


def _known(value: dict[str, str], names: list[str]) -> dict[str, str]:
    if unknown := sorted(set(value) - set(names)):
        sentence = _("There is no field %(unknown)s. There are: %(known)s.")
        raise serializers.ValidationError(sentence % {"unknown": ", ".join(unknown), "known": ", ".join(names)})
    return value


class ImportColumns(OneImport):
    """The columns of a file that is no question file, for who sent it; without a cell of it, since cells hold keys."""

    http_method_names = ["get", "head"]
    shape = FileColumnsShape
    may_conflict = True  # there is nothing to match
    summary = "Read the columns of a foreign question file"

    def rows(self) -> QuerySet[Upload]:
        return super().rows().filter(created_by=self.person)

    def get(self, request: Request, **named: Any) -> Response:
        upload = self.one()
        columns = columns_of(upload)
        offered, _kept = offer_matching(upload, columns)
        facts = {"columns": columns.names, "offered": offered, "fields_known": list(FIELD)}
        return self.conditional(self.shown(facts, self.only()))


class MatchImportColumns(OnlyPost, OneImport):
    """Match the columns of a file to fields, for who sent it: the matching is kept under its name, and a job checks the
    file. 202: ask at ``Location``.
    """

    shape, body = ImportShape, MatchingSent
    makes, status = True, 202
    summary = "Match the columns of a foreign question file"

    def rows(self) -> QuerySet[Upload]:
        return super().rows().filter(created_by=self.person)

    def post(self, request: Request, **named: Any) -> Response:
        upload, sent = self.one(), self.sent(MatchingSent)

        def match() -> MadeAnswer:
            columns = columns_of(upload)
            if unknown := sorted(set(sent["columns"].values()) - set(columns.names)):
                sentence = _("The file has no column %(names)s.") % {"names": ", ".join(unknown)}
                raise serializers.ValidationError({"columns": [sentence]})
            check_matched(upload, columns, Matching(**sent), **self.by())
            return self.made(self.one(), "api-import", named["slug"], upload.public_id)

        return self.once(match)


# --- kept ones --------------------------------------------------------------------------------------
class KeptMatchingShape(Shown):
    id = serializers.IntegerField(source="pk")
    name = serializers.CharField()
    columns = serializers.ListField(child=serializers.CharField(), help_text="of the file")
    matching = MatchingShape()
    created_by = PersonName()
    created_at = Moment()
    changed_at = Moment()


class _OfKeptMatchings(OfNoPlace):
    roles = (Role.COORDINATOR,)
    shape = KeptMatchingShape

    def rows(self) -> QuerySet[ColumnMatching]:
        return ColumnMatching.objects.select_related("created_by")


class KeptMatchings(_OfKeptMatchings, ListOf[ColumnMatching]):
    """Matchings that are kept: later files with these columns are read by the same matching."""

    summary = "List kept matchings of columns"


class OneKeptMatching(_OfKeptMatchings, OneOf[ColumnMatching]):
    """One kept matching."""

    lookup = "pk"
    summary = "Read a kept matching"


class NameSent(SentBody):
    name = serializers.CharField(max_length=LONGEST_NAME)


class RenameMatching(OnlyPost, OneKeptMatching):
    """Imports that used it keep their copy under the old name. Of sessions alone: all banks share it."""

    body = NameSent
    summary = "Rename a kept matching"

    def post(self, request: Request, **named: Any) -> Response:
        self.check_is_session()
        kept = self.one()
        rename_matching(kept, self.sent(NameSent)["name"], **self.by())
        return Response(self.shown(self.one()))


class DeleteMatching(OnlyPost, OneKeptMatching):
    """It is offered no longer, which cannot be undone: its name must be sent to confirm. Imports keep their copy. Of
    sessions alone: all banks share it.
    """

    body = NameSent
    summary = "Delete a kept matching"

    def post(self, request: Request, **named: Any) -> Response:
        self.check_is_session()
        kept, sent = self.one(), self.sent(NameSent)
        if sent["name"] != kept.name:
            sentence = _("This matching has another name. Nothing was deleted: send its name to confirm.")
            raise BodyRefused("not_confirmed", sentence, status=409)
        shown = self.shown(kept)
        delete_matching(kept, **self.by())
        return Response(shown)

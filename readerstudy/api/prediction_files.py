"""Files of predictions: sent, checked by a job, stored by another; the address of the import says how far it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import Http404
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.bodies import BodyRefused, SentBody, cleaned
from annotation.api.resources import OneOf, Resource, Shown
from annotation.api.shown_fields import Moment, PersonName, WordChoice
from annotation.enums import JobState
from annotation.jobs.access import facts_of_result, refusals_of
from annotation.models import Job, Upload
from annotation.people.kept_answers import MadeAnswer
from readerstudy.acts.models import check_works_with_models
from readerstudy.enums import FILE_FORMS
from readerstudy.forms.models import PredictionsForm, target_value
from readerstudy.predictions import uploads
from readerstudy.predictions.kernels.records import FIRST, LAST
from readerstudy.predictions.listing import Target, targets_for
from readerstudy.views.predictions.uploads import import_of, listed_entry


class PredictionImportShape(Shown):
    """Of the job that stores the file, or while there is none of the one that checks it."""

    id = serializers.CharField(source="upload.public_id")
    file = serializers.CharField(source="job.params.name")
    model_name = serializers.CharField(source="job.params.model")
    bank = serializers.SlugField(source="job.params.bank")
    study = serializers.CharField(source="job.params.study", help_text="empty: the whole bank")
    created_by = PersonName(source="upload.created_by")
    created_at = Moment(source="upload.created_at")
    is_stored = serializers.SerializerMethodField(help_text="whether it is the job that stores, and that is done")
    may_be_stored = serializers.SerializerMethodField(help_text="the check is done and was good: POST to its store/")
    state = WordChoice(JobState, source="job.state")
    message = serializers.CharField(source="job.message")
    error = serializers.CharField(source="job.error", help_text="why its job failed")
    done = serializers.IntegerField(source="job.progress_done", help_text="bytes")
    total = serializers.IntegerField(source="job.progress_total")
    result = serializers.SerializerMethodField(help_text="counts, and run_id once it is stored")
    refusals = serializers.SerializerMethodField(help_text="rows that were not taken, with the reason")

    def get_is_stored(self, row: Mapping[str, Any]) -> bool:
        job: Job = row["job"]
        return job.kind == uploads.STORE and job.state == JobState.SUCCEEDED

    def get_may_be_stored(self, row: Mapping[str, Any]) -> bool:
        return uploads.may_store(row["job"])

    def get_result(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return facts_of_result(row["job"])

    def get_refusals(self, row: Mapping[str, Any]) -> list[Any]:
        return refusals_of(row["job"])


class PredictionsSent(SentBody):
    file = serializers.FileField(allow_empty_file=True, help_text="JSON, JSON Lines, CSV, TSV or XLSX")
    model = serializers.CharField(help_text="its id")
    study = serializers.SlugField(required=False, help_text="of its cases")
    bank = serializers.SlugField(required=False, help_text="of all of its questions; either this or a study")
    form = serializers.ChoiceField(
        choices=[(word.value, word.label) for word in FILE_FORMS], required=False, help_text="found, if you do not say"
    )
    duplicates = serializers.ChoiceField(
        choices=[(FIRST, "the first counts"), (LAST, "the last counts")],
        required=False,
        help_text="which of several answers counts; otherwise a file in which they differ is refused",
    )


class PredictionFiles(Resource):
    """A file of predictions of one model for a study or a bank. 202: a job checks it and stores nothing. Once it was
    found good, POST to its ``store/``.
    """

    parser_classes = [MultiPartParser]
    shape, body = PredictionImportShape, PredictionsSent
    makes, status = True, 202
    summary = "Send a file of predictions"

    def post(self, request: Request, **named: Any) -> Response:
        check_works_with_models(self.person)
        sent = self.sent(PredictionsSent)
        entry = listed_entry(self.person, sent["model"])
        target = target_named(targets_for(self.person), sent)
        data = {"target": target_value(target), **{name: sent.get(name, "") for name in ("form", "duplicates")}}
        chosen = cleaned(PredictionsForm([target], data, {"file": sent["file"]}))
        asked = uploads.UploadRequest(entry, target, chosen["form"], chosen["duplicates"])

        def receive() -> MadeAnswer:
            file = chosen["file"]
            upload = uploads.receive_file(file.chunks(), file.name, asked=asked, **self.by())
            address = reverse("api-prediction-import", args=[upload.public_id])
            return MadeAnswer(202, self.shown({"upload": upload, "job": upload.job}), address)

        return self.once(receive)


def target_named(targets: Iterable[Target], sent: Mapping[str, Any]) -> Target:
    """The one that a body names as ``study`` or ``bank``. Raises Http404 where it is not among them."""
    study, bank = sent.get("study", ""), sent.get("bank", "")
    if bool(study) == bool(bank):
        raise BodyRefused("which_target", "Name a study or a bank.", status=422, field="study")
    for target in targets:
        if bool(target.study) == bool(study) and target.slug == (study or bank):
            return target
    raise Http404


class OnePredictionImport(OneOf[Upload]):
    """One file of predictions: how far its check or its import is, and what was not taken."""

    shape = PredictionImportShape
    summary = "Read one import of predictions"

    def one(self) -> Upload:
        return import_of(self.person, self.kwargs["public_id"])[0]

    def get(self, request: Request, **named: Any) -> Response:
        return self.conditional(self.shown(self.found(), self.only()))

    def found(self) -> dict[str, Any]:
        upload, job = import_of(self.person, self.kwargs["public_id"])
        return {"upload": upload, "job": job}


class StorePredictions(OnePredictionImport):
    """Store a file that was checked and found good. Asking twice stores it once."""

    http_method_names = ["post"]
    status = 202
    summary = "Store checked predictions"

    def post(self, request: Request, **named: Any) -> Response:
        found = self.found()
        uploads.store_checked(found["upload"], **self.by())
        response = Response(self.shown(self.found()), status=202)
        response["Location"] = reverse("api-prediction-import", args=[named["public_id"]])
        return response

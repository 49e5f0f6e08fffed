"""Benchmarks that were released from a bank: listed, planned, made, and their files taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import FileResponse
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.acts.files import release_file
from annotation.api.acting import body_of
from annotation.api.bodies import Moment, PersonName, SentBody, cleaned
from annotation.api.model_calls.validator_list import OfJudgedBank
from annotation.api.questionbank.bank_list import AsksBankJob
from annotation.api.resources import ListOf, OneOf, OnlyPost, Shown
from annotation.exports.release_files import ImageSize
from annotation.exports.releases import ReleaseWanted, ask_to_pack, plan_as_json, plan_release, release
from annotation.forms.bank import PackedForm, ReleaseForm
from annotation.models import Release
from annotation.people.kept_answers import MadeAnswer


class CountsShape(Shown):
    questions = serializers.IntegerField()
    patients = serializers.IntegerField()


class ReleaseShape(Shown):
    id = serializers.CharField(source="public_id")
    name = serializers.CharField()
    gate = serializers.CharField(help_text="name and version")
    shares = serializers.DictField(child=serializers.IntegerField(), help_text="percent, by split; none: as imported")
    seed = serializers.IntegerField()
    counts = serializers.DictField(child=CountsShape(), help_text="by split")
    left_out = serializers.DictField(child=serializers.IntegerField(), help_text="questions of the bank then, by why")
    sha256 = serializers.DictField(child=serializers.CharField(), source="sums", help_text="by file, without images")
    released_by = PersonName()
    released_at = Moment()
    withdrawn_by = PersonName()
    withdrawn_at = Moment(allow_null=True, help_text="its files are not handed out any more")
    withdrawal_reason = serializers.CharField()


class _SplitCounts(serializers.DictField):
    child = serializers.IntegerField()


class NearReleasedShape(Shown):
    n = serializers.IntegerField(help_text="of the plan; listed at near-duplicates/ by the rule released_twin")
    n_compared = serializers.IntegerField(help_text="of the plan; what was worded since was not compared")
    n_released = serializers.IntegerField(help_text="wordings in releases")
    threshold = serializers.FloatField()
    at = Moment()
    n_since = serializers.IntegerField(help_text="releases that came after, which were not compared")


class ReleasePlanShape(Shown):
    gate = serializers.CharField()
    questions = _SplitCounts(help_text="by split")
    patients = _SplitCounts(help_text="by split")
    exams_without_patient = serializers.IntegerField(help_text="each counts as a patient of its own")
    patients_who_keep_their_split = serializers.IntegerField(help_text="of an earlier release")
    not_passing_the_gate = serializers.IntegerField()
    left_out = serializers.DictField(child=serializers.IntegerField(), help_text="that pass the gate, by why")
    near_duplicates_of_releases = NearReleasedShape(allow_null=True, help_text="null: never compared")
    tables = serializers.DictField(help_text="questions by task, category and difficulty, and in these by split")
    since = serializers.DictField(allow_null=True, help_text="what differs from the release before")


class _OfReleases(OfJudgedBank):
    shape: ClassVar[type[Shown]] = ReleaseShape

    def rows(self) -> QuerySet[Release]:
        return Release.objects.filter(bank=self.bank).select_related("bank", "gate", "released_by", "withdrawn_by")

    def wanted(self) -> ReleaseWanted:
        """What was sent, as the form of the page reads it. Raises ValidationError."""
        form = ReleaseForm(self.sent(_body))
        cleaned(form)
        return form.wanted(self.bank)


_body: type[SentBody] = body_of(ReleaseForm)  # type: ignore[assignment]  # it has fields
_packed: type[SentBody] = body_of(PackedForm)  # type: ignore[assignment]


class Releases(_OfReleases, ListOf[Release]):
    """Releases of a bank. A POST freezes what passes the gate, as the plan tells before."""

    body = _body
    makes, status = True, 201
    summary, post_summary = "List releases of a bank", "Release a benchmark"

    def post(self, request: Request, **named: Any) -> Response:
        wanted = self.wanted()

        def make() -> MadeAnswer:
            made = release(wanted, **self.by())
            return self.made(made, "api-release", wanted.bank.slug, made.public_id)

        return self.once(make)


class PlanRelease(OnlyPost, _OfReleases):
    """What would be released, by split. It stores nothing."""

    shape, body = ReleasePlanShape, _body
    summary = "Plan a release"

    def post(self, request: Request, **named: Any) -> Response:
        return Response(self.shown(plan_as_json(plan_release(self.wanted(), self.person))))


class OneRelease(_OfReleases, OneOf[Release]):
    """One release."""

    summary = "Read one release"


class _Taken(_OfReleases):
    """Noted, and its reader as one who has seen the keys."""

    def taken(self, what: str, sent: Mapping[str, str]) -> FileResponse:
        made = get_object_or_404(self.rows(), public_id=self.kwargs["public_id"])
        return release_file(made, what, sent, **self.by())


class PackRelease(AsksBankJob, _OfReleases):
    """Have the ZIP file with images written: 202, and the address of the job. One size is kept."""

    body = _packed
    summary = "Have a release written with its images"

    def post(self, request: Request, **named: Any) -> Response:
        made = get_object_or_404(self.rows(), public_id=named["public_id"])
        images = ImageSize(self.sent(_packed)["images"])
        return self.once(lambda: self.asked_for(ask_to_pack(made, images, **self.by())))


class ReleaseFiles(_Taken):
    """The ZIP file; with ``images`` that which was written with images of this size, else without. Taking it is noted,
    and its reader as one who has seen the keys.
    """

    content_types = ("application/zip",)
    asked = ("images",)
    may_conflict = True  # an image was withheld since, or the file was not written
    http_method_names = ["get", "head"]
    summary = "Read the files of a release"

    def get(self, request: Request, **named: Any) -> FileResponse:
        return self.taken("packed" if "images" in request.query_params else "files", request.query_params)


class PublicKeySent(SentBody):
    public_key = serializers.CharField(max_length=200, help_text="of age: age1...")


class ReleaseKeys(OnlyPost, _Taken):
    """What is held back of the private split, as JSON that age encrypted for your public key; without one it stays
    here. Taking it is noted, and its reader as one who has seen the keys.
    """

    content_types = ("application/octet-stream",)
    body = PublicKeySent
    summary = "Take the answers of the private split, encrypted"

    def post(self, request: Request, **named: Any) -> FileResponse:
        return self.taken("keys", self.sent(PublicKeySent))

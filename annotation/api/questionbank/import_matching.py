"""Columns of a foreign question file matched to fields, and the matchings that are kept."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.bodies import BodyRefused, SentBody
from annotation.api.model_calls.asked_models import OfNoPlace
from annotation.api.questionbank.incoming_files import ImportShape, OneImport
from annotation.api.resources import ListOf, OneOf, Shown
from annotation.api.shown_fields import Moment, PersonName
from annotation.enums import Role
from annotation.models import ColumnMatching, Upload
from annotation.people.kept_answers import MadeAnswer
from annotation.questionbank.kernels.column_matching import FIELD, FIELDS, KEY_FORMS, LETTER, SEPARATORS, Matching
from annotation.questionbank.matchings import (
    LONGEST_NAME,
    check_matched,
    columns_of,
    delete_matching,
    offer_matching,
    rename_matching,
)

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


class MatchImportColumns(OneImport):
    """Match the columns of a file to fields, for who sent it: the matching is kept under its name, and a job checks the
    file. 202: ask at ``Location``.
    """

    http_method_names = ["post"]
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
            address = reverse("api-import", args=[named["slug"], upload.public_id])
            return MadeAnswer(202, self.shown(self.one()), address)

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


class RenameMatching(OneKeptMatching):
    """Imports that used it keep their copy under the old name. Of sessions alone: all banks share it."""

    http_method_names = ["post"]
    body = NameSent
    summary = "Rename a kept matching"

    def post(self, request: Request, **named: Any) -> Response:
        self.check_is_session()
        kept = self.one()
        rename_matching(kept, self.sent(NameSent)["name"], **self.by())
        return Response(self.shown(self.one()))


class DeleteMatching(OneKeptMatching):
    """It is offered no longer, which cannot be undone: its name must be sent to confirm. Imports keep their copy. Of
    sessions alone: all banks share it.
    """

    http_method_names = ["post"]
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

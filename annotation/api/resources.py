"""What every address of the API does by itself, and every refusal as one problem document.

A resource names who may ask (``roles``), who may send (``writers``) and through which places a token reaches its rows
(``reach``): a token whose scope is not among them finds nothing. Rows that a person must not know are left out by
``rows``, so that a strange id is 404 as if it did not exist. Everything that changes something is one act of a room.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, Generic, TypeVar, cast

from django.core.exceptions import PermissionDenied, RequestDataTooBig, TooManyFilesSent
from django.db.models import Model, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django_filters import FilterSet
from rest_framework import exceptions, serializers
from rest_framework.exceptions import NotAuthenticated, Throttled
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from annotation.acts import By
from annotation.api.authentication import PersonSession, TokenAuthentication, check_no_token_in_address, count_request
from annotation.api.bodies import BodyRefused, SentBody, StrictJSONParser, digest_of
from annotation.api.compared_etags import act_if_unchanged, etag_of, etags_in, lock_rows
from annotation.api.cursors import MOST, USUAL, Names, page_of
from annotation.enums import Role
from annotation.models import User
from annotation.people.kept_answers import Caller, MadeAnswer, answer_once, is_kept
from annotation.refusals import CONTENT_TYPE, NOTHING_HERE, SECONDS_UNTIL_BACK, Refused, problem_document
from annotation.site.health import outage_of
from annotation.site.permissions import check_role, within_reach

log = logging.getLogger(__name__)

_WORDS = {
    400: "bad_request",
    401: "not_authenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
    429: "too_many_requests",
}


def handle(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """The answer to a refusal or an outage; None for a fault of the program, which then is error 500."""
    if isinstance(error, Refused):
        return _of_refusal(error)
    if isinstance(error, exceptions.ValidationError):
        errors = list(_errors_of(error.detail))
        return _answer(422, "invalid", _("What was sent cannot be taken: see the errors."), errors=errors)
    if isinstance(error, Http404):
        return _answer(404, "not_found", NOTHING_HERE)
    if isinstance(error, PermissionDenied):
        return _answer(403, "forbidden", str(error) or _("Your role does not allow this."))
    if isinstance(error, RequestDataTooBig | TooManyFilesSent):
        return _answer(413, "too_large", _("This is more than this site takes at once."))
    if isinstance(error, exceptions.APIException):
        return _of_framework(error)
    outage = outage_of(error)
    if outage is None:
        return None
    log.error("%s: %s", outage.value, type(error).__name__)
    is_full = outage.value == "storage_full"
    answer = _answer(507 if is_full else 503, outage.value, _("Nothing was stored. Send it again later."))
    if not is_full:
        answer["Retry-After"] = str(SECONDS_UNTIL_BACK)
    return answer


def _of_refusal(refused: Refused) -> Response:
    if refused.status == 404:
        return _answer(404, "not_found", NOTHING_HERE)
    faults = refused.facts.get("faults") or ()  # of several fields at once
    errors = [{"field": one.field, "message": one.message} for one in faults]
    if refused.field and not errors:
        errors = [{"field": refused.field, "message": refused.sentence}]
    answer = _answer(refused.status, refused.code, refused.sentence or refused.code, errors=errors, facts=refused.facts)
    if refused.status == 401:
        answer["WWW-Authenticate"] = "Bearer"
    return answer


def _of_framework(error: exceptions.APIException) -> Response:
    answer = _answer(error.status_code, _WORDS.get(error.status_code, "refused"), str(error.detail))
    if header := getattr(error, "auth_header", None):
        answer["WWW-Authenticate"] = header
    if wait := getattr(error, "wait", None):
        answer["Retry-After"] = str(int(wait))
    return answer


def _answer(status: int, code: str, detail: str, **more: Any) -> Response:
    return Response(problem_document(status, code, str(detail), **more), status=status, content_type=CONTENT_TYPE)


def _errors_of(detail: Any, field: str = "") -> Iterator[dict[str, str]]:
    """One entry for each sentence of the framework, with the path of its field: ``cases.3.number``."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            path = "" if name == "non_field_errors" else str(name)
            yield from _errors_of(inner, ".".join(filter(None, (field, path))))
    elif isinstance(detail, list | tuple):
        for place, inner in enumerate(detail):
            nested = isinstance(inner, Mapping | list)
            yield from _errors_of(inner, f"{field}.{place}" if nested else field)
    else:
        yield {"field": field, "message": str(detail)}


Row = TypeVar("Row", bound=Model)
Planned = TypeVar("Planned")
SAFE = ("GET", "HEAD")
Shape = type["Shown"]


class Shown(serializers.Serializer[Any]):
    """What a program is shown of a thing. ``only``: the names of fields that it asked for."""

    def __init__(self, *args: Any, only: Sequence[str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if only is not None:
            for name in set(self.fields) - set(only):
                self.fields.pop(name)


class Resource(APIView):
    """An address of the API."""

    roles: ClassVar[tuple[Role, ...]] = ()  # of the site; none: every person, whose rows decide
    writers: ClassVar[tuple[Role, ...] | None] = None  # of them; None: all of them
    # By scope of a token, the lookup from a row to the place. None: rows() begins with a place of the address, which a
    # token reaches or not, or its rows belong to no place.
    reach: ClassVar[Mapping[str, str] | None] = {}
    asked: ClassVar[tuple[str, ...]] = ()  # further names that the query of the address may hold
    may_conflict: ClassVar[bool] = False  # a GET that the state of things can refuse with 409
    is_resumable: ClassVar[bool] = False  # a file of which a GET takes a Range
    shape: ClassVar[Shape]
    summary: ClassVar[str] = ""
    makes: ClassVar[bool] = False  # a POST makes something anew each time, once for each Idempotency-Key
    status: ClassVar[int] = 200  # of a POST
    has_etag: ClassVar[bool] = False

    authentication_classes = [TokenAuthentication, PersonSession]
    permission_classes: Sequence[Any] = []
    renderer_classes = [JSONRenderer]
    parser_classes: Sequence[Any] = [StrictJSONParser]
    metadata_class = None
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]

    @classmethod
    def as_view(cls, **options: Any) -> Any:
        """With its policy on it, as views of pages carry theirs."""
        view: Any = super().as_view(**options)
        view.policy = "role:" + ",".join(cls.roles) if cls.roles else "person"
        return view

    @property
    def person(self) -> User:
        return cast("User", self.request.user)

    def by(self) -> By:
        """The person of this request, now, for an act."""
        return By(actor=self.person, at=timezone.now())

    # --- before and after ---------------------------------------------------------------------------
    def get_exception_handler(self) -> Callable[..., Response | None]:
        return handle

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Who asks, how often, and whether they may: in this order, before anything is read."""
        self._answer_in_json(request)
        check_no_token_in_address(request)
        if not request.user.is_authenticated:
            raise NotAuthenticated(_("Send a token, or log in: Authorization: Bearer rexvqa_..."))
        self._count(request)
        self._check_policy(request)
        self._check_query(request)
        if request.method not in SAFE and request.headers.get("If-Match", "*").strip() != "*":
            name = str(request.method).lower()
            act = getattr(self, name, self.http_method_not_allowed)
            setattr(self, name, partial(act_if_unchanged, self, self._caller, act))

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        self._answer_in_json(request)
        answer = super().finalize_response(request, response, *args, **kwargs)
        for name, value in getattr(self, "_rate", {}).items():
            answer.headers[name] = value
        patch_vary_headers(answer, ("Authorization", "Cookie"))
        return answer

    def _answer_in_json(self, request: Any) -> None:
        """Whatever a client would like better: there is one form of answers."""
        request.accepted_renderer, request.accepted_media_type = JSONRenderer(), JSONRenderer.media_type

    def _count(self, request: Request) -> None:
        caller = f"token:{request.auth}" if request.auth else f"person:{self.person.pk}"
        allowance = count_request(caller, at=timezone.now())
        self._rate = allowance.headers()
        if allowance.is_used_up:
            raise Throttled(wait=allowance.resets_in)

    def _check_policy(self, request: Request) -> None:
        limits = self.person.limits
        is_safe = request.method in SAFE
        if limits is not None and limits.is_read_only and not is_safe:
            raise PermissionDenied(_("This token is for reading only."))
        check_role(self.person, self.roles if is_safe or self.writers is None else self.writers)

    def _check_query(self, request: Request) -> None:
        known = {*self.asked, *(("fields",) if request.method in SAFE else ())}
        if unknown := sorted(set(request.query_params) - known - self.filter_names()):
            sentence = _("The address of this resource takes no %(names)s.")
            raise BodyRefused("unknown_parameter", sentence % {"names": ", ".join(unknown)}, status=400)

    def filter_names(self) -> set[str]:
        return set()

    # --- what is shown ------------------------------------------------------------------------------
    def in_reach(self, rows: QuerySet[Row]) -> QuerySet[Row]:
        return rows if self.reach is None else within_reach(self.person, rows, **self.reach)

    def only(self) -> list[str] | None:
        """The fields that were asked for. Raises BodyRefused for one that there is none of."""
        asked = self.request.query_params.get("fields")
        if asked is None:
            return None
        known = set(self.shape().fields)
        names = [name for name in asked.split(",") if name]
        if unknown := [name for name in names if name not in known]:
            sentence = _("There is no field %(unknown)s. There are: %(known)s.")
            words = {"unknown": ", ".join(unknown), "known": ", ".join(sorted(known))}
            raise BodyRefused("unknown_field", sentence % words, status=400, field="fields")
        return names

    def shown(self, row: object, only: Sequence[str] | None = None) -> Any:
        return self.shape(row, only=only, context=self.context()).data

    def context(self) -> dict[str, Any]:
        """What a shape needs beside the row."""
        return {"view": self}

    def number(self, name: str, usual: int, most: int, *, least: int = 1) -> int:
        text = self.request.query_params.get(name, str(usual))
        if not (text.isascii() and text.isdecimal() and 0 < len(text) < 10 and least <= int(text) <= most):
            sentence = _("%(name)s is a number from %(least)s to %(most)s.")
            sentence %= {"name": name, "least": least, "most": most}
            raise BodyRefused("bad_number", sentence, status=400, field=name)
        return int(text)

    # --- what is sent -------------------------------------------------------------------------------
    def sent(self, shape: type[SentBody]) -> dict[str, Any]:
        """The body, as its shape reads it. Raises ValidationError."""
        body = shape(data=self.request.data)
        body.is_valid(raise_exception=True)
        return cast("dict[str, Any]", body.validated_data)

    def once(self, act: Callable[[], MadeAnswer]) -> Response:
        """What a POST makes is made once for each Idempotency-Key, where the request has one."""
        key = self.request.headers.get("Idempotency-Key")
        if key is None:
            answer = act()
        else:
            answer = answer_once(self._caller, key, digest_of(self.request), act, at=timezone.now())
        response = Response(answer.body, status=answer.status)
        if answer.location:
            response["Location"] = answer.location
        if answer.is_repeated:
            response["Idempotent-Replayed"] = "true"
        return response

    def made(self, row: object, route: str = "", *place: Any) -> MadeAnswer:
        """The thing that a POST has made or asked for, and the route of its address."""
        return MadeAnswer(self.status, self.shown(row), reverse(route, args=place) if route else "")

    def once_planned(self, plan: Callable[[], Planned], act: Callable[[Planned], MadeAnswer]) -> Response:
        """As ``once``, for what reads long before it stores: others would wait for a transaction that did both."""
        key = self.request.headers.get("Idempotency-Key")
        if key is not None and is_kept(self._caller, key, at=timezone.now()):
            return self.once(lambda: act(plan()))
        planned = plan()
        return self.once(lambda: act(planned))

    @property
    def _caller(self) -> Caller:
        return Caller(self.person, str(self.request.auth or ""))


class OnlyPost(Resource):
    """An address to which something is sent, and where nothing is read."""

    http_method_names = ["post"]


class OneOf(Resource, Generic[Row]):
    """One thing, found by what its address holds. With an ETag: who has it already gets 304."""

    lookup: ClassVar[str] = "public_id"
    has_etag = True
    locks: ClassVar[tuple[str, ...]] = ()  # attributes of the thing that its acts lock before it, in their order

    def rows(self) -> QuerySet[Row]:
        """All that the person may know."""
        raise NotImplementedError

    def one(self) -> Row:
        return get_object_or_404(self.in_reach(self.rows()), **{self.lookup: self.kwargs[self.lookup]})

    def get(self, request: Request, **named: Any) -> Response:
        return self.conditional(self.shown(self.one(), self.only()))

    def lock(self) -> None:
        """Lock what acts on the thing lock, so that nobody else changes it until the transaction ends."""
        row = self.one()
        lock_rows(*(attrgetter(name)(row) for name in self.locks), row)

    def conditional(self, body: Any) -> Response:
        etag = etag_of(body)
        is_known = etag in etags_in(self.request.headers.get("If-None-Match", ""))
        response = Response(status=304) if is_known else Response(body)
        response["ETag"] = etag
        response["Cache-Control"] = "private, no-cache"
        return response


class ActOn(OnlyPost, OneOf[Row]):
    """An act on one thing, listed before the class that finds it. Answers with the thing as it is afterwards."""

    def post(self, request: Request, **named: Any) -> Response:
        self.act_on(self.one())
        return Response(self.shown(self.one()))

    def act_on(self, row: Row) -> None:
        raise NotImplementedError


class ListOf(Resource, Generic[Row]):
    """Things by page: ``cursor``, ``limit``, ``sort``, filters and ``fields`` in the query of the address."""

    sorted_by: ClassVar[Names] = {}
    filters: ClassVar[type[FilterSet] | None] = None
    newest_first: ClassVar[bool] = True
    beside_results: ClassVar[Mapping[str, Any]] = {}  # what else is in a page, as JSON schema
    asked = ("cursor", "limit", "sort")

    def rows(self) -> QuerySet[Row]:
        """All that the person may know."""
        raise NotImplementedError

    @classmethod
    def free_filters(cls) -> Sequence[str]:
        """Names of filters that no ``filters`` holds."""
        return ()

    def filter_names(self) -> set[str]:
        if self.request.method not in SAFE:
            return set()
        return set(self.filters.get_filters() if self.filters is not None else self.free_filters())

    def get(self, request: Request, **named: Any) -> Response:
        query, only = request.query_params, self.only()
        page = page_of(
            self.filtered(self.in_reach(self.rows())),
            self.sorted_by,
            sort=query.get("sort", ""),
            cursor=query.get("cursor", ""),
            limit=self.number("limit", USUAL, MOST),
            newest_first=self.newest_first,
        )
        return self.listed(page.rows, page.next, only)

    def filtered(self, rows: QuerySet[Row]) -> QuerySet[Row]:
        if self.filters is None:
            return rows
        filters = self.filters(data=self.request.query_params, queryset=rows, request=self.request)
        if not filters.is_valid():
            raise serializers.ValidationError({name: list(errors) for name, errors in filters.errors.items()})
        return cast("QuerySet[Row]", filters.qs)

    def listed(self, rows: Sequence[object], cursor: str, only: Sequence[str] | None) -> Response:
        """A page of the list, with the whole address of the next one."""
        following = self._address_of(cursor) if cursor else None
        results = self.shape(rows, many=True, only=only, context=self.context()).data
        response = Response({"next": following, "results": results})
        if following:
            response["Link"] = f'<{following}>; rel="next"'
        return response

    def _address_of(self, cursor: str) -> str:
        query = self.request.query_params.copy()
        query["cursor"] = cursor
        return self.request.build_absolute_uri(f"?{query.urlencode()}")

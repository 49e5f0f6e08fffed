"""Banks and their questions: listed, searched, looked at, put away, taken as a file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Exists, OuterRef
from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers
from msgspec import Struct

from annotation.acts.files import drawn_response, table_response
from annotation.contributions import without_images
from annotation.endpoints.configured_endpoints import endpoints
from annotation.enums import (
    EXPLANATIONS,
    Difficulty,
    HistoryKind,
    ImageState,
    ImportKind,
    ImportState,
    QuestionState,
    Role,
    RoundState,
    Task,
    ViewPosition,
)
from annotation.exports.bank_export import export_bank_zip
from annotation.forms.bank import BankExportForm, QuestionSearchForm
from annotation.generation.question_origins import origin_of
from annotation.ingest.completeness import images_of_bank
from annotation.ingest.serving import image_descriptors
from annotation.models import Assignment, GenerationRun, Image, Question, QuestionBank, Review, ReviewRound, Revision
from annotation.models.fields import AsRead
from annotation.outcomes.next_steps import next_in_bank
from annotation.questionbank.answers import read_truth
from annotation.questionbank.bank_life import is_unused
from annotation.questionbank.checking import findings_of
from annotation.questionbank.filters import BankSearch, counted_splits
from annotation.questionbank.kernels.entries import BankRefused
from annotation.questionbank.kernels.question_checks import DIVERSITY
from annotation.questionbank.listing import (
    MOST_LISTED,
    SORTED_BY,
    PageStart,
    category_tree,
    n_questions,
    questions_page,
    taxonomy_file,
)
from annotation.questionbank.source_names import (
    MissingImage,
    export_missing,
    export_source_ids,
    list_missing,
    source_id_of,
)
from annotation.questionbank.validity import gate_of, parts_of_question, state_by_gate
from annotation.review.commenting import note_seen, parts_of
from annotation.review.history import Event, life_of
from annotation.review.kernels.visibility import DiscussionPart
from annotation.review.onlookers import findings_shown_to, revisions_in_pairs_of, withheld_questions
from annotation.review.selected_questions import tags_of
from annotation.site.permissions import is_administrator, is_coordinator
from annotation.site.sentences import number_written
from annotation.site.sorted_tables import BoundedPaginator, Columns, asked_sorting, sorted_page
from annotation.tables.kernels.forms import FigureForm, Width
from annotation.tables.writing import Format, scratch_file
from annotation.templatetags.pages import kept_fragment
from annotation.validators.validator_exams import examined
from annotation.views.bank_validators import valid_context
from annotation.views.comments import discussion_context
from annotation.views.questionbank.chosen import last_job, last_outcome
from annotation.views.review.rounds import DrawnFigure
from annotation.views.site.administration import delete_or_ask
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, role_required


@role_required(Role.COORDINATOR)
@never_cache
@require_GET
def bank_export(request: AuthenticatedRequest, slug: str) -> FileResponse:
    """Questions, changes and data card; written whole before the first byte is sent, and who takes it is noted."""
    one = get_object_or_404(QuestionBank, slug=slug)
    file = scratch_file()
    export_bank_zip(one, BankExportForm(request.GET).choice(), file, **by(request))
    return FileResponse(file, as_attachment=True, filename=f"{one.slug}.zip", content_type="application/zip")


class ListedQuestion(Struct, frozen=True):
    """A line of the list, ready to be shown: asked by a template, fifty rows take longer than their queries."""

    number: int
    shown_number: str
    address: str
    thumbnail: str
    stem: str
    task: str
    category: str
    difficulty: str
    state: str
    views: SafeString
    tags: list[str]


def listed_questions(
    one: QuestionBank, revisions: list[Revision], tags: dict[int, list[str]], *, with_images: bool
) -> list[ListedQuestion]:
    """The lines of these wordings, in their order; thumbnails ``with_images`` only, tags by question."""
    tasks = {word.value: _(word.label) for word in Task}
    difficulties = {word.value: _(word.label) for word in Difficulty} | {"": _("unknown")}
    states = {
        word.value: kept_fragment("annotation/bank/_state.html", _state_context, word.value) for word in QuestionState
    }
    positions = {word.value: _(word.label) for word in ViewPosition}
    not_there = {word.value: _(word.label) for word in ImageState if word != ImageState.AVAILABLE}
    address, small = reverse("bank", args=[one.slug]), reverse("thumbnail", args=["-"])[:-1]
    rows = []
    for row in revisions:
        images = [image for image in row.question.exam.images.all() if image.public_id not in row.left_out]
        first = images[0] if images and with_images and images[0].state == ImageState.AVAILABLE else None
        preview = getattr(first, "preview", None)
        views = [(positions[i.view_position], not_there.get(i.state, "")) for i in images]
        number = row.question.number
        rows.append(
            ListedQuestion(
                number=number,
                shown_number=intcomma(number),
                address=f"{address}{number}/",
                thumbnail=f"{small}{preview}" if preview else "",
                stem=Truncator(row.stem).chars(300),
                task=tasks[row.task],
                category=row.category,
                difficulty=difficulties[row.difficulty],
                state=states[row.question.state],
                views=mark_safe(", ".join(_view_words(*view) for view in views)),  # noqa: S308 - words of ours
                tags=tags.get(row.question_id, []),
            )
        )
    return rows


def _state_context(value: str) -> dict[str, Any]:
    return {"question": Question(state=value)}


def _view_words(position: str, missing: str) -> str:
    if not missing:
        return format_html("<span>{}</span>", position)
    return format_html('<span class="muted" title="{}">{} ○</span>', missing, position)


MISSING_PER_PAGE = 100
EVENTS_SHOWN = 25  # of a history; the rest on request
MISSING_SORTED_BY: Columns = {
    "path": AsRead("path"),
    "view": "view_position",
    "exam": "exam__pseudonym",
    "questions": "question",
}


@role_required(Role.COORDINATOR, Role.ADMINISTRATOR)
@require_GET
def banks(request: AuthenticatedRequest) -> HttpResponse:
    """Banks in use; the archived ones on request."""
    archived = "archived" in request.GET
    found = QuestionBank.objects.filter(archived_at__isnull=not archived).prefetch_related("imports")
    rows = []
    for bank in found:
        published = [
            one for one in bank.imports.all() if one.state == ImportState.PUBLISHED and one.kind != ImportKind.EDITS
        ]
        if published:
            rows.append({"bank": bank, "n_questions": n_questions(published), "last_import": published[0]})
    context = {"rows": rows, "archived": archived, "may_import": is_coordinator(request.user)}
    return render(request, "annotation/bank/list.html", context)


@role_required(Role.COORDINATOR, Role.ADMINISTRATOR)
@require_GET
@vary_on_headers("HX-Request")
def bank(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """One bank and a page of its questions."""
    begun = ReviewRound.objects.filter(plan__bank=OuterRef("pk")).exclude(state=RoundState.DRAFT)
    generated = GenerationRun.objects.filter(bank=OuterRef("pk"))
    banks = QuestionBank.objects.annotate(has_rounds=Exists(begun), has_generated=Exists(generated))
    one = get_object_or_404(banks, slug=slug)
    form = QuestionSearchForm(request.GET, one, request.user)
    search = form.search()
    sorting = asked_sorting(request.GET, SORTED_BY)
    after, before = (number_written(request.GET.get(name, "")) for name in ("after", "before"))
    place = PageStart(after or 0, before, request.GET.get("group", ""))
    page = questions_page(search, sorting, place)
    tags = tags_of([row.question_id for row in page.revisions], request.user)
    asked = {**search.wanted, **({"sort": request.GET["sort"]} if sorting.column else {})}
    context = {
        "bank": one,  # with has_rounds and has_generated
        "may_generate": bool(endpoints()),
        "form": form,
        "page": page,
        "rows": listed_questions(one, page.revisions, tags, with_images=is_coordinator(request.user)),
        "search": search,
        "chips": _chips(search, asked),
        "sorting": sorting,
        "n_rows": page.last_number,
        "next_query": _query_of(asked, page.next),
        "previous_query": _query_of(asked, page.previous),
        "first_query": urlencode(asked),
        "filter_query": urlencode(search.wanted),
        "may_select": is_coordinator(request.user) and one.archived_at is None,
        "most": MOST_LISTED,
    }
    if asks_for_part(request):
        return render(request, "annotation/bank/_questions.html", context | {"is_part": True})
    context |= {
        "n_questions": n_questions(search.files),
        **valid_context(request, one, page.last_number),
        "splits": [(split, _(split.label), n) for split, n in counted_splits(search)],
        "imports": search.files[:20],
        "may_import": is_coordinator(request.user),
        "may_delete": is_administrator(request.user) and is_unused(one),
        "n_missing": images_of_bank(one).n_pending,
        "next": next_in_bank(one, request.user),
        "export_form": BankExportForm(),
        "outcome": last_outcome(request, one),
        "change": last_job(request, one),
    }
    return render(request, "annotation/bank/detail.html", context)


def _chips(search: BankSearch, asked: Mapping[str, str]) -> list[tuple[str, str]]:
    """What is filtered, in words, each with the query of the address without it."""
    return [
        (words, urlencode({name: value for name, value in asked.items() if name != taken}))
        for taken, words in search.sentences()
    ]


def _query_of(asked: Mapping[str, str], place: PageStart | None) -> str:
    if place is None:
        return ""
    number = {"after": place.after} if place.before is None else {"before": place.before}
    return urlencode({**asked, **number, **({"group": place.group} if place.group else {})})


@role_required(Role.COORDINATOR, Role.ADMINISTRATOR)
@require_GET
def question(request: AuthenticatedRequest, slug: str, number: int) -> HttpResponse:
    """One question with its exam and history; key, explanation and report for coordinators only."""
    questions = Question.objects.select_related("bank", "exam")
    one = get_object_or_404(questions, bank__slug=slug, number=number)
    revisions = list(
        Revision.objects.filter(question=one, bank_import__state=ImportState.PUBLISHED)
        .select_related("bank_import__actor", "edit__author", "edit__settlement__round")
        .order_by("-number")
    )
    if not revisions:
        raise Http404
    current = revisions[0]
    context: dict[str, Any] = {"bank": one.bank, "question": one, "revision": current, "revisions": revisions}
    context["options"] = list(zip("ABCD", current.options, strict=False))
    if is_coordinator(request.user):
        images = list(Image.objects.filter(exam__in=one.exam.shown_ids).prefetch_related("renditions"))
        shown = {row["id"]: row for row in image_descriptors(images)}
        thumbs = [
            {"image": image, "shown": shown.get(image.public_id), "left_out": image.public_id in current.left_out}
            for image in images
        ]
        context["images"] = [thumb for thumb, image in zip(thumbs, images, strict=True) if image.exam_id == one.exam_id]
        context["prior_images"] = [
            thumb for thumb, image in zip(thumbs, images, strict=True) if image.exam_id != one.exam_id
        ]
    try:
        context["truth"] = read_truth(current, person=request.user, at=timezone.now())
        context["source_id"] = source_id_of(one, person=request.user)
        if not withheld_questions(request.user).filter(pk=one.pk).exists():
            context["findings"] = findings_shown_to(request.user, findings_of([current.pk]))
            left_out = {DIVERSITY} if revisions_in_pairs_of(request.user).filter(pk=current.pk).exists() else set()
            context["validity"] = [one for one in parts_of_question(current) if one.part.code not in left_out]
            context["gate"] = gate = gate_of(one.bank)
            context["whole"] = gate and state_by_gate(gate, context["validity"])
            context["without_images"] = answered = without_images(one.bank, Revision.objects.filter(pk=current.pk))
            context["n_right_without"] = sum(model.n_right for model in answered)
            context["examined"] = examined(one.bank, [part.verdict for part in context["validity"] if part.verdict])
            context["origin"] = origin_of(revisions)
    except BankRefused as refusal:
        context["hidden_because"] = str(refusal)
    parts = parts_of(request.user, one)
    context |= discussion_context(request, one, parts)
    note_seen(one, request.user, parts, timezone.now())
    if DiscussionPart.HISTORY in parts and "truth" in context:
        context["reviews"] = _closed_reviews(one)
        context |= _history(request, life_of(one, revisions, request.user))
    elif withheld_questions(request.user).filter(pk=one.pk).exists():
        context["revisions"] = []
    context["next_number"], context["previous_number"] = _neighbours(one)
    return render(request, "annotation/bank/question.html", context)


def _history(request: AuthenticatedRequest, events: list[Event]) -> dict[str, Any]:
    """What the page shows of the history: of one kind, or the newest of all."""
    kinds = [(kind, sum(one.kind == kind for one in events)) for kind in HistoryKind]
    chosen = next((kind for kind, n in kinds if n and kind == request.GET.get("only")), None)
    found = [one for one in events if chosen in (None, one.kind)]
    shown = found if "all" in request.GET else found[:EVENTS_SHOWN]
    return {
        "history": shown,
        "n_older": len(found) - len(shown),
        "kinds": [(kind, _(kind.label), n) for kind, n in kinds if n],
        "chosen_kind": chosen,
    }


def _neighbours(one: Question) -> tuple[int | None, int | None]:
    others = Question.objects.filter(bank=one.bank_id)
    after = others.filter(number__gt=one.number).order_by("number").values_list("number", flat=True).first()
    before = others.filter(number__lt=one.number).order_by("-number").values_list("number", flat=True).first()
    return after, before


def _closed_reviews(one: Question) -> list[Review]:
    """The newest version of each review of closed rounds, without calibration; those of an open round stay hidden."""
    closed = Assignment.objects.filter(round__state=RoundState.CLOSED, round__calibrates=None, revision__question=one)
    rows = Review.objects.filter(assignment__in=closed.exclude(round__plan__rule=EXPLANATIONS)).select_related(
        "assignment__round__adjudicates", "assignment__reviewer", "assignment__revision"
    )
    newest: dict[int, Review] = {}
    for row in rows.order_by("assignment", "version"):
        newest[row.assignment_id] = row
    return list(newest.values())


@role_required(Role.COORDINATOR, Role.ADMINISTRATOR)
@require_GET
def bank_categories(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Tasks, categories, subcategories and classes, each with a link to its questions."""
    one = get_object_or_404(QuestionBank, slug=slug)
    return render(
        request, "annotation/bank/categories.html", {"bank": one, "tree": category_tree(one), "figure": _drawn(one)}
    )


def _drawn(bank: QuestionBank) -> DrawnFigure:
    def address(width: Width, form: FigureForm) -> str:
        return reverse("bank-taxonomy", args=[bank.slug, width.value, form.value])

    legend = _("The questions of the bank by task, and in each task by category; percent of all questions.")
    alt = _("How many questions each task and its largest categories have; the same numbers are in the list.")
    return DrawnFigure.at(address, alt, legend)


@role_required(Role.COORDINATOR, Role.ADMINISTRATOR)
@never_cache
@require_GET
def bank_taxonomy(request: AuthenticatedRequest, slug: str, width: str, form: str) -> HttpResponse:
    """What the questions are about, as it is drawn for the page and for a paper."""
    one = get_object_or_404(QuestionBank, slug=slug)
    if width not in set(Width) or form not in set(FigureForm):
        raise Http404
    return drawn_response(
        taxonomy_file(one, FigureForm(form), Width(width)), slug, "taxonomy", Width(width), FigureForm(form)
    )


@role_required(Role.COORDINATOR)
@never_cache
@require_GET
def bank_source_ids(request: AuthenticatedRequest, slug: str) -> FileResponse:
    """Numbers and random ids of the bank beside the ids of the imported file; who takes it is noted."""
    one = get_object_or_404(QuestionBank, slug=slug)
    write = partial(export_source_ids, one, Format.CSV, **by(request))
    return table_response(f"{one.slug}-ids", Format.CSV, write)


@role_required(Role.COORDINATOR)
@require_GET
def bank_missing(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The images that questions name and whose files have not come in."""
    one = get_object_or_404(QuestionBank, slug=slug)
    context = sorted_page(request.GET, list_missing(one), MISSING_SORTED_BY, MISSING_PER_PAGE, BoundedPaginator)
    rows = [MissingImage.of(image) for image in context["page"]]
    return render(request, "annotation/bank/missing.html", {"bank": one, "rows": rows, **context})


@role_required(Role.COORDINATOR)
@never_cache
@require_GET
def bank_missing_file(request: AuthenticatedRequest, slug: str) -> FileResponse:
    """The same as CSV; who takes it is noted."""
    one = get_object_or_404(QuestionBank, slug=slug)
    write = partial(export_missing, one, Format.CSV, **by(request))
    return table_response(f"{one.slug}-missing-images", Format.CSV, write)


@role_required(Role.ADMINISTRATOR)
@require_POST
def bank_delete(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    one = get_object_or_404(QuestionBank, slug=slug)
    return delete_or_ask(request, one, "banks")

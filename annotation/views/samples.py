"""Samples: drawn with a look at what would be stored, listed, put away."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Page
from django.db.models import Max
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from annotation.enums import Role
from annotation.forms.bank import QuestionSearchForm
from annotation.forms.rounds import DrawForm, StoreForm
from annotation.models import Question, QuestionBank, Revision, SamplingPlan, User
from annotation.questionbank.filters import BankSearch, filters_for
from annotation.questionbank.kernels.question_checks import PARTS
from annotation.review.frames import frame_rows
from annotation.review.onlookers import withheld_questions
from annotation.review.samples import (
    SAMPLES_SORTED_BY,
    Draw,
    counted_samples,
    default_name,
    draw_sample,
    preview_sample,
    usual_per_thousand,
)
from annotation.site.permissions import is_administrator, is_coordinator
from annotation.site.sorted_tables import Columns, numbered_page, sorted_page
from annotation.statistics.kernels.sampling import RatedBy
from annotation.views.site.administration import delete_or_ask
from annotation.views.site.confirming import refusals_on
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, role_required

PER_PAGE = 50
QUESTIONS_SORTED_BY: Columns = {
    "place": "position",
    "question": "revision__question__number",
    "task": "revision__task",
    "stratum": "stratum",
}


@role_required(Role.COORDINATOR, Role.ADMINISTRATOR)
@require_GET
def samples(request: AuthenticatedRequest) -> HttpResponse:
    """Samples in use; the archived ones on request."""
    archived = "archived" in request.GET
    rows = counted_samples().filter(archived_at__isnull=not archived).order_by("-created_at")
    context = {
        **sorted_page(request.GET, rows, SAMPLES_SORTED_BY, PER_PAGE),
        "archived": archived,
        "may_draw": is_coordinator(request.user),
        "has_banks": QuestionBank.objects.filter(archived_at__isnull=True).exists(),
    }
    return render(request, "annotation/sampling/list.html", context)


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
def sample_new(request: AuthenticatedRequest) -> HttpResponse:
    """Choose, look at the draw, then store it. GET draws a preview and stores nothing."""
    if request.method == "POST":
        return _store(request)
    form = DrawForm(request.GET) if "per_thousand" in request.GET else DrawForm(initial=_bank_named(request))
    return _draw_page(request, form)


def _bank_named(request: AuthenticatedRequest) -> dict[str, Any]:
    """The bank of the address, else the first one: a form that nobody has filled in yet."""
    banks = QuestionBank.objects.filter(archived_at__isnull=True)
    bank = banks.filter(slug=request.GET.get("bank", "")).first() or banks.first()
    if bank is None:
        return {}
    last = Question.objects.filter(bank=bank).aggregate(last=Max("number"))["last"] or 1
    return {"bank": bank.slug, "per_thousand": usual_per_thousand(last)}


def _store(request: AuthenticatedRequest) -> HttpResponse:
    form = StoreForm(request.POST)
    if form.is_valid():
        data = form.cleaned_data
        with refusals_on(form):
            plan = draw_sample(
                data["bank"],
                name=data["name"],
                by=data["by"],
                per_thousand=data["per_thousand"],
                seed=data["seed"],
                rated_by=data["rated_by"],
                seen_frame_sha256=data["frame_sha256"],
                wanted=_search(request, data["bank"]).wanted,
                **by(request),
            )
            messages.success(request, _("The sample is stored."))
            if "round" in request.POST:
                return redirect(f"{reverse('round-new')}?sample={plan.slug}")
            return redirect("sample", plan.slug)
    return _draw_page(request, form, status=422)


def _draw_page(request: AuthenticatedRequest, form: DrawForm, status: int = 200) -> HttpResponse:
    """The form, and below it the draw when the form says enough for one."""
    context: dict[str, object] = {"form": form, "name": form.data.get("name", "")}
    data = getattr(form, "cleaned_data", {}) if form.is_bound and (form.is_valid() or form.errors) else {}
    if {"bank", "by", "per_thousand", "seed"} <= set(data):
        asked = {name: data[name] for name in ("by", "per_thousand", "seed", "rated_by") if name in data}
        context["search"] = search = _search(request, data["bank"])
        with refusals_on(form):
            found = preview_sample(data["bank"], wanted=search.wanted, **asked)
            page = numbered_page(request.GET, found.revision_ids, PER_PAGE)
            context |= {
                "frame_rows": frame_rows(found.frame, found.n_frame),
                "default_name": default_name(found),
                "found": found,
                "page": page,
                "rows": _rows(found, page),
            }
    elif bank := QuestionBank.objects.filter(slug=str(form["bank"].value() or "")).first():
        context["search"] = _search(request, bank)
    is_fragment = asks_for_part(request)
    template = "annotation/sampling/_preview.html" if is_fragment else "annotation/sampling/new.html"
    return render(request, template, context | {"is_fragment": is_fragment}, status=status)


def _search(request: AuthenticatedRequest, bank: QuestionBank) -> BankSearch:
    """The filters of the address: the frame, by what every coordinator may know."""
    sent = request.POST if request.method == "POST" else request.GET
    return BankSearch(bank, QuestionSearchForm(sent, bank, request.user, offers_all=False).search().wanted)


def _rows(found: Draw, page: Page[int]) -> list[dict[str, object]]:
    """The drawn questions of one page, in the order of the sample."""
    revisions = Revision.objects.select_related("question").in_bulk(list(page.object_list))
    start = page.start_index() - 1
    return [
        {"position": start + place + 1, "revision": revisions[pk], "stratum": found.drawn[start + place].stratum}
        for place, pk in enumerate(page.object_list)
    ]


@role_required(Role.COORDINATOR, Role.ADMINISTRATOR)
@require_GET
def sample(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """One stored sample: how it was drawn, what was drawn, and the rounds made from it."""
    plan = get_object_or_404(SamplingPlan.objects.select_related("bank", "created_by"), slug=slug)
    drawn = plan.questions.select_related("revision__question").order_by("position")
    table = sorted_page(request.GET, drawn, QUESTIONS_SORTED_BY, PER_PAGE)
    rounds = list(plan.rounds.all())
    context = {
        **table,
        "plan": plan,
        "rows": table["page"],
        "rounds": rounds,
        **_frame(plan, request.user),
        "frame_rows": frame_rows(plan.frame, plan.n_frame),
        "rated_by": _(RatedBy(plan.frame["rated_by"]).label) if "rated_by" in plan.frame else "",
        "too_small": [one["stratum"] for one in plan.strata if one["n_drawn"] < 2],
        "may_change": is_coordinator(request.user),
        "may_delete": is_administrator(request.user) and not rounds,
    }
    return render(request, "annotation/sampling/detail.html", context)


def _frame(plan: SamplingPlan, person: User) -> dict[str, Any]:
    """The filters that it was drawn by, in words, but for those that this person may not use or that tell of what they
    judge.
    """
    may_see = {one.name: not one.of_coordinators for one in filters_for(person)}
    if not plan.questions.filter(revision__question__in=withheld_questions(person)).exists():
        may_see = dict.fromkeys(may_see, True)
    sentences = BankSearch(plan.bank, plan.frame.get("filters", {})).sentences()
    if out := plan.frame.get("kept_out"):
        labels = ", ".join(f"“{_(PARTS[code].label)}”" for code in out["parts"])
        words = _("%(n)d questions that fail one of %(parts)s were kept out") % {"n": out["n"], "parts": labels}
        sentences.append(("finding", words))
    shown = [words for name, words in sentences if may_see.get(name)]
    return {"frame": shown, "hides_filters": len(shown) < len(sentences)}


@role_required(Role.ADMINISTRATOR)
@require_POST
def sample_delete(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    return delete_or_ask(request, get_object_or_404(SamplingPlan, slug=slug), "samples")

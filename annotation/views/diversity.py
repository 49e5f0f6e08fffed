"""Near-duplicates of a bank, within it and in public banks: what was found, and the button that compares.

Pairs that two people judge blind, the curve that comes of it, and the threshold of an embedding.
"""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation.enums import Role
from annotation.forms import valid_data
from annotation.forms.diversity import EmbeddingForm, PairTrialForm, ThresholdForm
from annotation.models import Embedding, PairTrial, QuestionBank, Release
from annotation.questionbank.kernels.rules import BANKWIDE, PUBLIC_TWIN, RELEASED_TWIN, RULES
from annotation.review.onlookers import withheld_questions
from annotation.site.permissions import is_coordinator
from annotation.site.sentences import number_written
from annotation.site.sorted_tables import numbered_page
from annotation.validators.embedded_questions import (
    ask_for_comparison,
    ask_for_embedding,
    counts_of_similar,
    embeddings_of,
    similar_found,
)
from annotation.validators.judging_pairs import (
    begin_trial,
    curve_of,
    end_trial,
    is_judge,
    is_over,
    judge_pair,
    may_follow,
    n_judged_by_both,
    progress_of,
    set_threshold,
    show_next_pair,
    trials_of,
)
from annotation.validators.vector_sources import EmbeddingRefused, has_sources
from annotation.views.bank_validators import bank_of
from annotation.views.site.confirming import Confirmation, confirm, flashed, is_confirmed, refusals_on
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required, role_required

PER_PAGE = 50


@role_required(Role.COORDINATOR)
@require_GET
def bank_near_duplicates(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Pairs with both questions linked, of all rules or of one."""
    bank = bank_of(request, slug)
    found = similar_found(bank, request.user)
    counts = counts_of_similar(found)
    asked = request.GET.get("rule", "")
    chosen = asked if asked in BANKWIDE else ""
    page = numbered_page(request.GET, found.filter(rule=chosen) if chosen else found, PER_PAGE)
    context = {
        "bank": bank,
        "rules": [(RULES[code], counts[code]) for code in BANKWIDE],
        "n_twins": counts[PUBLIC_TWIN],
        "n_released": counts[RELEASED_TWIN],
        "is_anything_released": Release.objects.exists(),
        "chosen": chosen,
        "n_found": sum(counts.values()),
        "n_public": QuestionBank.objects.filter(is_public=True).exclude(pk=bank.pk).count(),
        "n_hidden": withheld_questions(request.user).filter(bank=bank).count(),
        "embeddings": embeddings_of(bank),
        "form": EmbeddingForm(),
        "has_sources": has_sources(),
        "page": page,
        "shown": [(one, RULES[one.rule].label) for one in page.object_list],
    }
    return render(request, "annotation/diversity/near_duplicates.html", context)


@role_required(Role.COORDINATOR)
@require_POST
def bank_compare(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Compare in the background, with each other, with public banks or with releases."""
    bank = bank_of(request, slug)
    across, released = (request.POST.get(name) == "yes" for name in ("across", "released"))
    with flashed(request):
        job = ask_for_comparison(bank, across=across, released=released, **by(request))
        return redirect("job", job.public_id)
    return redirect("bank-near-duplicates", slug)


@role_required(Role.COORDINATOR)
@require_POST
def bank_embed(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask a model for the vectors that are missing, in the background."""
    bank = bank_of(request, slug)
    with flashed(request):
        data = valid_data(EmbeddingForm(request.POST))
        return redirect("job", ask_for_embedding(bank, data["endpoint"], data["model"], **by(request)).public_id)
    return redirect("bank-near-duplicates", slug)


ANSWERS = {"same": True, "different": False}


def _trial(request: AuthenticatedRequest, slug: str, public_id: str) -> PairTrial:
    """Whoever neither coordinates nor judges finds none; who reads questions of the bank in a study is refused."""
    trials = PairTrial.objects.select_related(
        "bank", "embedding__threshold_set_by", "first_judge", "second_judge", "ended_by"
    )
    trial = get_object_or_404(trials, bank__slug=slug, public_id=public_id)
    if not may_follow(trial, request.user):
        raise Http404
    bank_of(request, slug)
    return trial


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def pair_trials(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """All trials of a bank, and the form that begins one."""
    bank = bank_of(request, slug)
    whole = [row.embedding.pk for row in embeddings_of(bank) if row.is_whole]
    form = PairTrialForm(Embedding.objects.filter(pk__in=whole), request.POST or None)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        judges = data["first"], data["second"]
        with refusals_on(form):
            begun = begin_trial(bank, data["embedding"], judges, seed=data["seed"], **by(request))
            return redirect("pair-trial", slug, begun.public_id)
    context = {
        "bank": bank,
        "form": form,
        "trials": trials_of(bank),
        "may_begin": bool(whole) and bank.archived_at is None,
    }
    return render(request, "annotation/diversity/pair_trials.html", context, status=422 if form.errors else 200)


@person_required
@never_cache
@require_GET
def pair_trial(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """A pair to one who judges; once both have judged all, the curve to everybody who coordinates."""
    trial = _trial(request, slug, public_id)
    progress = progress_of(trial)
    pair = show_next_pair(trial, request.user, at=by(request)["at"])
    context = {
        "bank": trial.bank,
        "trial": trial,
        "progress": progress,
        "pair": pair,
        "sides": [pair.first, pair.second] if pair else [],
        "coordinates": is_coordinator(request.user),
        "curve": curve_of(trial) if is_coordinator(request.user) else None,
        "form": ThresholdForm(),
    }
    return render(request, "annotation/diversity/pair_trial.html", context)


@person_required
@require_POST
def pair_judge(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """The same question, or not."""
    trial = _trial(request, slug, public_id)
    if not is_judge(trial, request.user):
        raise PermissionDenied(_("Two other people judge these pairs."))
    with flashed(request) as say:
        answer, number = request.POST.get("said", ""), number_written(request.POST.get("number", ""), digits=5)
        if answer not in ANSWERS or number is None:
            raise EmbeddingRefused("not_said", _("Say of the pair whether it is the same question or not."))
        judge_pair(trial, number, is_same=ANSWERS[answer], **by(request))
        say(_("Pair %(n)s is judged.") % {"n": number})
    return redirect("pair-trial", slug, public_id)


@role_required(Role.COORDINATOR)
@require_POST
def pair_end(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """No more is judged: asks first, since what was hidden is shown then."""
    trial = _trial(request, slug, public_id)
    page = reverse("pair-trial", args=[slug, public_id])
    if not is_confirmed(request) and not is_over(trial):
        facts = {"n": n_judged_by_both(trial), "all": trial.pairs.count()}
        curve = _("The curve will be of these.") if facts["n"] else _("There will be no curve.")
        sentences = [
            _("Pairs that both people have judged: %(n)s of %(all)s.") % facts + f" {curve}",
            _("Their answers and the similarities are shown then, so nobody can judge the other pairs later."),
        ]
        asked = Confirmation(
            title=_("End judging these pairs?"),
            about=str(trial.embedding),
            sentences=sentences,
            label=_("End judging"),
            back=page,
        )
        return confirm(request, asked)
    with flashed(request) as say:
        say(_("Judging is ended. Pairs that both have judged: %(n)s.") % {"n": end_trial(trial, **by(request))})
    return redirect(page)


@role_required(Role.COORDINATOR)
@require_POST
def pair_threshold(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """A person says where the two part."""
    trial = _trial(request, slug, public_id)
    with flashed(request) as say:
        data = valid_data(ThresholdForm(request.POST))
        set_threshold(trial, data["threshold"], data["reason"], **by(request))
        say(_("The threshold is set. Compare again, so that findings follow it."))
    return redirect("pair-trial", slug, public_id)

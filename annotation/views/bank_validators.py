"""V(Q) of a bank with its validators: what they are asked, their verdicts, and the gate.

Compliance, equation 6: the identifiers of HIPAA as a check-list, and classifiers with their thresholds.
"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation.contributions import without_images
from annotation.endpoints.configured_endpoints import endpoints
from annotation.enums import Role
from annotation.forms import valid_data
from annotation.forms.diversity import ClassifyForm, ClassThresholdForm
from annotation.forms.model_endpoints import GateForm, ValidatorForm
from annotation.models import LabelledSet, QuestionBank, Revision, ValidatorRun
from annotation.outcomes.outcome_groups import valid_shown_to
from annotation.questionbank.checking import count_identifiers
from annotation.questionbank.kernels.question_checks import GATED, JUDGED, PARTS, RATING, STATED
from annotation.questionbank.validity import MOST_COUNTED, count_parts, gate_of, n_failing, set_gate
from annotation.review.onlookers import withheld_questions
from annotation.site.permissions import is_coordinator
from annotation.site.sorted_tables import numbered_page
from annotation.statistics.kernels.intervals import share
from annotation.statistics.kernels.sampling import RatedBy
from annotation.validators.classifying import ask_for_scores, classifiers_of, set_threshold
from annotation.validators.folder_models import CLASSIFIERS, folders
from annotation.validators.kernels.validator_exam import REFERENCES, part_of_class
from annotation.validators.taking_verdicts import act_on_run, asked_with, failing, note_read, runs_of
from annotation.validators.validator_exams import compare_sources, examined, exams_by_reviewers
from annotation.validators.validator_plans import ValidatorRefused, begin_checks, check_reads_none, plan_checks
from annotation.views.site.confirming import flashed, refusals_on, said
from annotation.views.site.decorators import AuthenticatedRequest, by, role_required

PER_PAGE = 50


def bank_of(request: AuthenticatedRequest, slug: str) -> QuestionBank:
    """Whoever reads its questions in a study that is not over is refused."""
    bank = get_object_or_404(QuestionBank, slug=slug)
    try:
        check_reads_none(request.user, bank)
    except ValidatorRefused as refusal:
        raise PermissionDenied(str(refusal)) from None
    return bank


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def bank_validators(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """All parts of V(Q) over the bank with its gate; a validator is asked from here."""
    bank = bank_of(request, slug)
    form = ValidatorForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with refusals_on(form):
            begun = begin_checks(plan_checks(form.wanted(bank), **by(request)), **by(request))
            n = sum(len(plan.found.asked) for plan in begun)
            started = ngettext("Started: a worker asks %(n)d question.", "Started: a worker asks %(n)d questions.", n)
            return said(request, started % {"n": n}, "bank-validators", slug)
    hidden = withheld_questions(request.user)
    counts, gate = count_parts(bank, hidden), gate_of(bank)
    current = Revision.objects.in_bank(bank).current().exclude(question__in=hidden)
    context = {
        "bank": bank,
        "gate": gate,
        "form": form,
        "has_endpoints": bool(endpoints()),
        "rows": [
            {
                "count": one,
                "page": _page_of(bank, one.part.code),
                "is_required": gate is not None and one.part.code in gate.parts,
                "can_be_required": one.part.code in GATED,
            }
            for one in counts
        ],
        "n_questions": counts[0].n_questions,
        "n_hidden": hidden.filter(bank=bank).count(),
        "n_failing": n_failing(bank, hidden),
        "without_images": [(one, share(one.n_right, one.n)) for one in without_images(bank, current)],
        "runs": runs_of(bank),
    }
    return render(request, "annotation/validators/bank.html", context, status=422 if form.errors else 200)


SHOWN_ON = {
    "diversity": "bank-near-duplicates",
    "identifiers": "bank-compliance",
    "model_not_easy": "bank-difficulties",
    "reviewers_not_easy": "bank-difficulties",
    "expert": "bank-outcomes",
}


def _page_of(bank: QuestionBank, part: str) -> str:
    """Where a part is examined."""
    if part in JUDGED:
        return reverse("bank-validator", args=[bank.slug, part])
    return reverse(SHOWN_ON[part], args=[bank.slug]) if part in SHOWN_ON else ""


@role_required(Role.COORDINATOR)
@never_cache
@require_GET
def bank_validator(request: AuthenticatedRequest, slug: str, code: str) -> HttpResponse:
    """One validator: what it asks, its verdicts, and the questions that fail with reasons, which tell keys."""
    bank = bank_of(request, slug)
    if code not in JUDGED:
        raise Http404
    hidden = withheld_questions(request.user)
    page = numbered_page(request.GET, failing(bank, code, request.user), PER_PAGE)
    shown = list(page.object_list)
    note_read(shown, person=request.user, at=timezone.now())
    context: dict[str, Any] = {
        "bank": bank,
        "part": PARTS[code],
        "count": next(one for one in count_parts(bank, hidden) if one.part.code == code),
        "n_hidden": hidden.filter(bank=bank).count(),
        "prompt": asked_with(code),
        "runs": runs_of(bank, code),
        "reference": REFERENCES[code],
        "by_reviewers": exams_by_reviewers(bank, code, hidden),
        "examined": examined(bank, shown),
        "page": page,
        "shown": shown,
    }
    return render(request, "annotation/validators/validator.html", context)


@role_required(Role.COORDINATOR)
@require_GET
def bank_difficulties(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """How bank, model, reviewers and readers agree on what is difficult. No rating of any one question."""
    bank = bank_of(request, slug)
    hidden = withheld_questions(request.user)
    found = compare_sources(bank, hidden)
    context = {
        "bank": bank,
        "found": found,
        "rows": [(_(name.label), counts.values(), sum(counts.values())) for name, counts in found.counts.items()],
        "levels": STATED,
        "beside_experts": [one for one in found.pairs if one.second == RatedBy.REVIEWERS and one.kappa.n],
        "n_hidden": hidden.filter(bank=bank).count(),
        "runs": runs_of(bank, RATING),
    }
    return render(request, "annotation/validators/difficulties.html", context)


@role_required(Role.COORDINATOR)
@require_POST
def bank_keeping_out(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Which parts the questions of the bank have to pass."""
    bank = bank_of(request, slug)
    with flashed(request) as say:
        changed = set_gate(bank, **valid_data(GateForm(request.POST)), **by(request))
        say(
            _("The gate is set; samples drawn before stay as they are.")
            if changed
            else _("Nothing differs: tick or untick a part.")
        )
    return redirect("bank-validators", slug)


@role_required(Role.COORDINATOR)
@require_POST
def validator_run_act(request: AuthenticatedRequest, slug: str, public_id: str, act: str) -> HttpResponse:
    """Pause, resume or stop."""
    bank_of(request, slug)
    runs = ValidatorRun.objects.select_related("batch__permission", "batch__bank")
    run = get_object_or_404(runs, bank__slug=slug, public_id=public_id)
    with flashed(request) as say:
        act_on_run(run, act, **by(request))
        say(_("Done: the run is %(state)s.") % {"state": run.batch.get_state_display()})
    return redirect("bank-validators", slug)


def valid_context(request: AuthenticatedRequest, one: QuestionBank, n: int) -> dict[str, Any]:
    """Of a large bank the counts come beside the page."""
    gate = gate_of(one) if n > MOST_COUNTED and is_coordinator(request.user) else None
    return {"counted_beside": gate, "valid": None if gate else valid_shown_to(request.user, one, n_questions=n)}


@role_required(Role.COORDINATOR)
@require_GET
def bank_valid(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The line of a bank's first screen that says how many of its questions are valid."""
    one = get_object_or_404(QuestionBank, slug=slug)
    context = {"bank": one, "valid": valid_shown_to(request.user, one)}
    return render(request, "annotation/bank/_gate.html", context)


# --- compliance ---------------------------------------------------------------------------------------
@role_required(Role.COORDINATOR)
@require_GET
def bank_compliance(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """What rules for identifiers and classifiers find; of each labelled set the curve of one class."""
    return _page(request, bank_of(request, slug))


def _page(request: AuthenticatedRequest, bank: QuestionBank, status: int = 200) -> HttpResponse:
    hidden = withheld_questions(request.user)
    rows = classifiers_of(bank, hidden)
    asked = request.GET.get("class", "")
    curves = []
    for row in rows:
        label = asked if asked in row.classes else row.classes[0]
        if curve := row.curve(label):
            initial = {"label": label, "part": part_of_class(label)}
            curves.append((row, label, curve, ClassThresholdForm(initial=initial, auto_id=f"{row.classifier.pk}-%s")))
    context = {
        "bank": bank,
        "identifiers": count_identifiers(bank, hidden),
        "n_hidden": hidden.filter(bank=bank).count(),
        "n_questions": bank.questions.exclude(pk__in=hidden).count(),
        "classifiers": rows,
        "curves": curves,
        "form": ClassifyForm(),
        "has_folders": bool(folders(CLASSIFIERS)),
    }
    return render(request, "annotation/validators/compliance.html", context, status=status)


@role_required(Role.COORDINATOR)
@require_POST
def bank_classify(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Score the questions that have no score yet, and a labelled set where one is sent, in the background."""
    bank = bank_of(request, slug)
    with flashed(request):
        data = valid_data(ClassifyForm(request.POST, request.FILES))
        file = data["labelled"]
        labelled = (file.name, file.read()) if file else None
        return redirect("job", ask_for_scores(bank, data["folder"], labelled=labelled, **by(request)).public_id)
    return _page(request, bank, status=422)


@role_required(Role.COORDINATOR)
@require_POST
def bank_class_threshold(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """A person says from which probability on a question fails."""
    bank = bank_of(request, slug)
    labelled = get_object_or_404(LabelledSet.objects.select_related("classifier"), public_id=public_id)
    with flashed(request):
        set_threshold(labelled, **valid_data(ClassThresholdForm(request.POST)), bank=bank, **by(request))
        return said(request, _("The threshold is set; findings follow in a minute."), "bank-compliance", slug)
    return _page(request, bank, status=422)

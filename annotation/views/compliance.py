"""Compliance of a bank, equation 6: the identifiers of HIPAA as a check-list, and classifiers with their thresholds."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from annotation.enums import Role
from annotation.forms.compliance import ClassifyForm, ClassThresholdForm
from annotation.models import Job, LabelledSet, QuestionBank
from annotation.questionbank.checking import count_identifiers
from annotation.review.onlookers import withheld_questions
from annotation.validators.classifying import ask_for_scores, classifiers_of, set_threshold
from annotation.validators.folder_models import CLASSIFIERS, folders
from annotation.validators.kernels.validator_exam import part_of_class
from annotation.views.bank_validators import bank_of
from annotation.views.site.confirming import begin_and_follow, run_and_flash, valid_data
from annotation.views.site.decorators import AuthenticatedRequest, by, role_required


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

    def asked() -> Job:
        data = valid_data(ClassifyForm(request.POST, request.FILES))
        file = data["labelled"]
        labelled = (file.name, file.read()) if file else None
        return ask_for_scores(bank, data["folder"], labelled=labelled, **by(request))

    return begin_and_follow(request, asked) or _page(request, bank, status=422)


@role_required(Role.COORDINATOR)
@require_POST
def bank_class_threshold(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """A person says from which probability on a question fails."""
    bank = bank_of(request, slug)
    labelled = get_object_or_404(LabelledSet.objects.select_related("classifier"), public_id=public_id)

    def done() -> str:
        set_threshold(labelled, **valid_data(ClassThresholdForm(request.POST)), bank=bank, **by(request))
        return _("The threshold is set; findings follow in a minute.")

    is_done = run_and_flash(request, done)
    return redirect("bank-compliance", slug) if is_done else _page(request, bank, status=422)

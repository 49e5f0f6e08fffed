"""Revisions of a question by hand: the editor with its preview, and what undoes one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.enums import Role
from annotation.forms.revision import RevisionForm
from annotation.ingest.serving import image_descriptors
from annotation.models import Finding, Image, Question, Revision
from annotation.quality.checking import dismiss
from annotation.questionbank.answers import read_truth
from annotation.questionbank.editing import (
    current_revision,
    image_labels,
    propose,
    revise,
    undo,
    with_texts,
    wording_of,
)
from annotation.questionbank.kernels.entries import BankRefused
from annotation.questionbank.kernels.wording import IMAGES, Wording
from annotation.views.site.confirming import number_sent, run_and_flash
from annotation.views.site.decorators import AuthenticatedRequest, by, role_required

Store = Callable[[Wording, str, int], Revision]  # of the wording, the reason, and the revision it is based on


@dataclass(frozen=True)
class EditorPlace:
    """Where an editor came from: whose page leads to it, and the address to which it goes back."""

    title: str
    back: str
    hint: str = ""


def asked_question(slug: str, number: int) -> Question:
    return get_object_or_404(Question.objects.select_related("bank", "exam"), bank__slug=slug, number=number)


@role_required(Role.COORDINATOR)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def question_revise(request: AuthenticatedRequest, slug: str, number: int) -> HttpResponse:
    """The editor of a coordinator, who reads the key with it."""
    question = asked_question(slug, number)
    revision = get_object_or_404(Revision.objects.current(), question=question)
    read_truth(revision, person=request.user, at=by(request)["at"])
    place = EditorPlace(question.bank.name, reverse("question", args=[slug, number]))
    return editor(
        request,
        question,
        place,
        lambda wording, reason, based_on: revise(question, wording, reason, based_on=based_on, **by(request)),
    )


def editor(request: AuthenticatedRequest, question: Question, place: EditorPlace, store: Store) -> HttpResponse:
    """The page that shows and stores a wording; the caller has checked who may write one."""
    current = current_revision(question)
    wording = wording_of(current)
    images = list(Image.objects.filter(exam__in=question.exam.shown_ids).prefetch_related("renditions"))
    labels = image_labels(image for image in images if image.exam_id == question.exam_id)
    if request.method != "POST":
        form = RevisionForm.of(wording, current.number, labels)
        return _page(request, question, place, form, wording, images)
    form = RevisionForm(request.POST, images=labels)
    if not form.is_valid():
        return _page(request, question, place, form, wording, images, status=422)
    typed = replace(with_texts(wording, form.texts()), left_out=form.left_out(wording.left_out))
    proposal = propose(current, typed)
    if "store" not in request.POST:
        return _page(request, question, place, form, typed, images, proposal=proposal, is_preview=True)
    try:
        revision = store(typed, form.cleaned_data["reason"], form.cleaned_data["based_on"])
    except BankRefused as refusal:
        return _refused(request, question, place, form, typed, images, refusal)
    messages.success(request, _("Revision %(n)s is stored.") % {"n": revision.number})
    return redirect(place.back)


def _refused(
    request: AuthenticatedRequest,
    question: Question,
    place: EditorPlace,
    form: RevisionForm,
    typed: Wording,
    images: Sequence[Image],
    refusal: BankRefused,
) -> HttpResponse:
    """The editor again, with what was typed; after another editor's revision based on that one."""
    current = current_revision(question)
    if refusal.code == "changed":
        data = request.POST.copy()
        data["based_on"] = str(current.number)
        form = RevisionForm(data, images=form.image_labels)
        form.is_valid()
    for fault in refusal.facts.get("faults", ()):
        form.add_error(fault.field if fault.field in form.fields else None, fault.message)
    if "faults" not in refusal.facts:
        form.add_error(refusal.field if refusal.field in form.fields else None, str(refusal))
    proposal = propose(current, typed)
    return _page(
        request, question, place, form, typed, images, status=refusal.status, proposal=proposal, is_preview=True
    )


def _page(
    request: AuthenticatedRequest,
    question: Question,
    place: EditorPlace,
    form: RevisionForm,
    wording: Wording,
    images: Sequence[Image],
    *,
    status: int = 200,
    is_preview: bool = False,
    **more: Any,
) -> HttpResponse:
    """``images``: of the exam and of its prior. The viewer has all of them, or in a preview those that count."""
    priors = {image.pk for image in images if image.exam_id != question.exam_id}
    views = image_descriptors(images, priors=priors)
    previews = {view["id"]: view["preview"] for view in views}
    context = {
        "question": question,
        "place": place,
        "form": form,
        "wording": wording,
        "shown_options": list(zip("ABCD", wording.options, strict=False)),
        "views": [view for view in views if not is_preview or view["id"] not in wording.left_out],
        "image_choices": [(choice, previews.get(choice.data["value"])) for choice in form[IMAGES]],
        "is_preview": is_preview,
        **more,
    }
    return render(request, "annotation/bank/revise.html", context, status=status)


@role_required(Role.COORDINATOR)
@require_POST
def question_undo(request: AuthenticatedRequest, slug: str, number: int) -> HttpResponse:
    """The wording from before the current revision, as a new one."""
    question = asked_question(slug, number)
    based_on = number_sent(request, "based_on") or 0

    def undone() -> str:
        revision = undo(question, based_on=based_on, **by(request))
        return _("Revision %(n)s is stored, with the wording from before.") % {"n": revision.number}

    run_and_flash(request, undone)
    return redirect("question", slug, number)


@role_required(Role.COORDINATOR)
@require_POST
def finding_dismiss(request: AuthenticatedRequest, slug: str, number: int) -> HttpResponse:
    """A person says why a finding of the checks is none."""
    findings = Finding.objects.filter(revision__question=asked_question(slug, number))
    finding = get_object_or_404(findings, public_id=request.POST.get("finding", ""))

    def dismissed() -> str:
        dismiss(finding, reason=request.POST.get("reason", ""), **by(request))
        return _("The finding is dismissed.")

    run_and_flash(request, dismissed)
    return redirect("question", slug, number)

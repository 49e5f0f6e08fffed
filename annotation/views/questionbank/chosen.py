"""What is done with questions that a person selected in a list; and revisions by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from msgspec import Struct
from msgspec.structs import replace

from annotation.enums import Role
from annotation.forms.bank import ChosenForm, RevisionForm
from annotation.ingest.serving import image_descriptors
from annotation.models import Finding, Image, Job, Question, QuestionBank, Revision
from annotation.questionbank.answers import read_truth
from annotation.questionbank.checking import dismiss
from annotation.questionbank.editing import (
    current_revision,
    image_labels,
    propose,
    revise,
    undo,
    with_texts,
    wording_of,
)
from annotation.questionbank.filters import BankSearch
from annotation.questionbank.kernels.entries import BankRefused
from annotation.questionbank.kernels.wording import IMAGES, Wording
from annotation.refusals import Refused
from annotation.review.samples import draw_sample
from annotation.review.selected_questions import (
    UNDOES,
    Outcome,
    QuestionsAct,
    SelectedAct,
    ask_for_change,
    change_questions,
    changed_numbers,
    tags_in,
)
from annotation.statistics.kernels.sampling import StratifyBy
from annotation.views.site.confirming import flashed, number_sent, said
from annotation.views.site.decorators import AuthenticatedRequest, by, role_required

AT_ONCE = 2_000  # changed in one request; more are changed by a job, and samples may be larger
CHANGED = "changed_questions"  # in the session: what the last act of the person did, and in which bank


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def bank_chosen(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """GET asks, POST does it."""
    bank = _bank(slug)
    form = ChosenForm(request.POST or request.GET, bank, request.user)
    search, numbers = form.search(), form.numbers()
    wanted = search.wanted
    is_sample = form.act in ("sample", "round")
    if is_sample:  # by what every coordinator may know: the sample says what it was drawn from
        search = BankSearch(bank, wanted)
    found = (
        search.revisions() if form.is_every else BankSearch(bank, {}).revisions().filter(question__number__in=numbers)
    )
    n = found.count()
    tags = tags_in(bank, request.user) if form.act in (SelectedAct.TAG, SelectedAct.UNTAG) else []
    refusal = _refusal(form, n, tags)
    if request.method == "POST" and not refusal and form.is_every and request.POST.get("n", str(n)) != str(n):
        refusal = _("The list has changed since you saw it. Look at the number of questions and confirm again.")
    if request.method == "POST" and not refusal:
        try:
            if is_sample:
                return _drawn(request, form, search, numbers)
            chosen = list(found.order_by("question_id").values_list("question__number", flat=True))
            one = QuestionsAct.of(SelectedAct(form.act), form.words, bank=bank, **by(request))
            return _changed(request, one, chosen, wanted)
        except Refused as refused:
            refusal = str(refused)
    context = {
        "bank": bank,
        "form": form,
        "search": search,
        "numbers": numbers,
        "n": n,
        "refusal": refusal,
        "back": _list_of(bank, wanted),
        "chips": search.sentences(),
        "is_job": not is_sample and n > AT_ONCE,
        "tags": tags,
        "offered_tag": form.new_tag or wanted.get("tag", ""),
    }
    return render(request, "annotation/bank/chosen.html", context, status=422 if refusal else 200)


@role_required(Role.COORDINATOR)
@require_POST
def bank_chosen_undo(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Undo an act of this person on many questions, which its time tells from others."""
    bank = _bank(slug)
    act, at = request.POST.get("act", ""), _time(request.POST.get("at", ""))
    with flashed(request):
        if at is None or act not in UNDOES:
            raise Refused("nothing", _("There is nothing to undo."), status=422)
        words = request.POST.get("words", "")
        one = QuestionsAct.of(SelectedAct(act), words, bank=bank, actor=request.user, at=at)
        numbers = changed_numbers(one)
        if not numbers:
            raise Refused("nothing", _("There is nothing to undo: the questions have changed since."))
        return _changed(request, QuestionsAct.of(UNDOES[one.act], one.words, bank=bank, **by(request)), numbers, {})
    return redirect("bank", slug)


def last_outcome(request: AuthenticatedRequest, bank: QuestionBank) -> Outcome | None:
    """What the last act of this person did, where the address of the list asks for it."""
    facts = _last_change(request, bank) if "changed" in request.GET else {}
    return Outcome.of(bank, facts, facts) if "act" in facts else None


def last_job(request: AuthenticatedRequest, bank: QuestionBank) -> Job | None:
    """The job that does the last act of this person, until it is over."""
    facts = _last_change(request, bank)
    return Job.objects.unfinished().filter(public_id=facts["job"]).first() if "job" in facts else None


def _last_change(request: AuthenticatedRequest, bank: QuestionBank) -> dict[str, Any]:
    facts: dict[str, Any] = request.session.get(CHANGED, {})
    return facts if facts.get("bank") == bank.pk else {}


def _bank(slug: str) -> QuestionBank:
    return get_object_or_404(QuestionBank, slug=slug, archived_at=None)


def _time(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo else None


def _list_of(bank: QuestionBank, query: Mapping[str, str]) -> str:
    address = reverse("bank", args=[bank.slug])
    return f"{address}?{urlencode(query)}" if query else address


def _refusal(form: ChosenForm, n: int, tags: Sequence[str]) -> str:
    if not form.act:
        return _("Choose what to do with the questions.")
    if form.is_every and form.dropped():
        return _("A filter of the list means nothing any more. Go back to the list and filter it again.")
    if n == 0:
        return _("No question is selected. Select some in the list, or all that match.")
    if form.act == SelectedAct.UNTAG and not tags:
        return _("No question of this bank has a tag.")
    return ""


def _drawn(request: AuthenticatedRequest, form: ChosenForm, search: BankSearch, numbers: list[int]) -> HttpResponse:
    chosen: dict[str, Any] = {"wanted": search.wanted} if form.is_every else {"numbers": numbers}
    name = form.text("name")
    plan = draw_sample(search.bank, name=name, by=StratifyBy.NONE, per_thousand=1000, **chosen, **by(request))
    messages.success(request, _("The sample is stored."))
    if form.act == "round":
        return redirect(f"{reverse('round-new')}?sample={plan.slug}")
    return redirect("sample", plan.slug)


def _changed(
    request: AuthenticatedRequest, one: QuestionsAct, chosen: list[int], wanted: Mapping[str, str]
) -> HttpResponse:
    """Do it and go back to the list, which says what was done; with many, go to the page of the job that does it."""
    if len(chosen) > AT_ONCE:
        job = ask_for_change(one, chosen)
        request.session[CHANGED] = {"bank": one.bank.pk, "job": job.public_id}
        return redirect("job", job.public_id)
    outcome = change_questions(one, chosen)
    facts = {"bank": one.bank.pk, "act": one.act.value, "words": one.words, "at": one.at.isoformat()}
    request.session[CHANGED] = facts | outcome.as_json()
    if one.act == SelectedAct.UNTAG:  # the list of what has the tag would be empty
        wanted = {name: value for name, value in wanted.items() if name != "tag"}
    return redirect(_list_of(one.bank, {**wanted, "changed": "yes"}))


Store = Callable[[Wording, str, int], Revision]  # of the wording, the reason, and the revision it is based on


class EditorPlace(Struct, frozen=True):
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
    return said(request, _("Revision %(n)s is stored.") % {"n": revision.number}, place.back)


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
    with flashed(request) as say:
        revision = undo(question, based_on=based_on, **by(request))
        say(_("Revision %(n)s is stored, with the wording from before.") % {"n": revision.number})
    return redirect("question", slug, number)


@role_required(Role.COORDINATOR)
@require_POST
def finding_dismiss(request: AuthenticatedRequest, slug: str, number: int) -> HttpResponse:
    """A person says why a finding of the checks is none."""
    findings = Finding.objects.filter(revision__question=asked_question(slug, number))
    finding = get_object_or_404(findings, public_id=request.POST.get("finding", ""))
    with flashed(request) as say:
        dismiss(finding, reason=request.POST.get("reason", ""), **by(request))
        say(_("The finding is dismissed."))
    return redirect("question", slug, number)

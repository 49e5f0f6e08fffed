"""What is done with the questions that a person selected in the list of a bank, after a page that says how many."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from annotation.discussion.tagging import add_tag
from annotation.enums import Role
from annotation.forms.bank import ChosenForm
from annotation.models import Question, QuestionBank
from annotation.questionbank.filters import BankSearch
from annotation.questionbank.question_states import bring_back_questions, withdraw_questions
from annotation.refusals import Refused
from annotation.sampling.kernels.drawing import StratifyBy
from annotation.sampling.samples import draw_sample
from annotation.views.site.decorators import AuthenticatedRequest, by, role_required

AT_ONCE = 2_000  # changed in one request; samples may be larger


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def bank_chosen(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """GET asks, POST does it."""
    bank = get_object_or_404(QuestionBank, slug=slug, archived_at=None)
    form = ChosenForm(request.POST or request.GET, bank, request.user)
    search, numbers = form.search(), form.numbers()
    is_sample = form.act in ("sample", "round")
    if is_sample:  # by what every coordinator may know: the sample says what it was drawn from
        search = BankSearch(bank, search.wanted)
    found = (
        search.revisions() if form.is_every else BankSearch(bank, {}).revisions().filter(question__number__in=numbers)
    )
    n = found.count()
    refusal = _refusal(form, n, is_sample=is_sample)
    if request.method == "POST" and not refusal:
        try:
            return _done(request, form, search, numbers)
        except Refused as refused:
            refusal = str(refused)
    back = f"{reverse('bank', args=[slug])}?{urlencode(form.search().wanted)}"
    context = {"bank": bank, "form": form, "n": n, "refusal": refusal, "back": back, "chips": search.sentences()}
    status = 422 if refusal else 200
    return render(
        request, "annotation/bank/chosen.html", context | {"search": search, "numbers": numbers}, status=status
    )


def _refusal(form: ChosenForm, n: int, *, is_sample: bool) -> str:
    if not form.act:
        return _("Choose what to do with the questions.")
    if n == 0:
        return _("No question is selected. Select some in the list, or all that match.")
    if not is_sample and n > AT_ONCE:
        sentence = _("%(n)s questions are more than can be changed at once: filter the list to at most %(most)s.")
        return sentence % {"n": f"{n:,}", "most": f"{AT_ONCE:,}"}
    return ""


def _done(request: AuthenticatedRequest, form: ChosenForm, search: BankSearch, numbers: list[int]) -> HttpResponse:
    bank = search.bank
    if form.act in ("sample", "round"):
        chosen: dict[str, Any] = {"wanted": search.wanted} if form.is_every else {"numbers": numbers}
        name = form.text("name")
        plan = draw_sample(bank, name=name, by=StratifyBy.NONE, per_thousand=1000, **chosen, **by(request))
        messages.success(request, _("The sample is stored."))
        if form.act == "round":
            return redirect(f"{reverse('round-new')}?sample={plan.slug}")
        return redirect("sample", plan.slug)
    questions = Question.objects.filter(bank=bank).order_by("number")
    if form.is_every:
        questions = questions.filter(pk__in=list(search.revisions().values_list("question", flat=True)))
    else:
        questions = questions.filter(number__in=numbers)
    if form.act == "tag":
        n = add_tag(questions, form.new_tag, bank=bank, **by(request))
        words = ngettext("%(n)s question is tagged.", "%(n)s questions are tagged.", n) % {"n": n}
        messages.success(request, words)
        return redirect("bank", bank.slug)
    if form.act == "withdraw":
        n, n_left = withdraw_questions(list(questions), form.text("reason"), **by(request))
        words = ngettext("%(n)s question is withdrawn.", "%(n)s questions are withdrawn.", n) % {"n": n}
        rest = ngettext("%(n)s was before.", "%(n)s were before.", n_left) % {"n": n_left}
    else:
        n, n_left = bring_back_questions(list(questions), **by(request))
        words = ngettext("%(n)s question is back.", "%(n)s questions are back.", n) % {"n": n}
        rest = ngettext("%(n)s was not withdrawn.", "%(n)s were not withdrawn.", n_left) % {"n": n_left}
    messages.success(request, f"{words} {rest}" if n_left else words)
    return redirect("bank", bank.slug)

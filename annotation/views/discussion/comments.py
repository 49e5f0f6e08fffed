"""What people say about a question: its tags and comments."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation.discussion.tagging import add_tag, remove_tag
from annotation.enums import Role
from annotation.models import Question
from annotation.views.site.confirming import run_and_flash
from annotation.views.site.decorators import AuthenticatedRequest, by, role_required


def _question(slug: str, number: int) -> Question:
    return get_object_or_404(Question.objects.select_related("bank"), bank__slug=slug, number=number)


@role_required(Role.COORDINATOR)
@require_POST
def question_tag_add(request: AuthenticatedRequest, slug: str, number: int) -> HttpResponse:
    question = _question(slug, number)

    def added() -> str:
        one = Question.objects.filter(pk=question.pk)
        if add_tag(one, request.POST.get("tag", ""), bank=question.bank, **by(request)):
            return _("The tag is added.")
        return _("The question has this tag already.")

    run_and_flash(request, added)
    return redirect("question", slug, number)


@role_required(Role.COORDINATOR)
@require_POST
def question_tag_remove(request: AuthenticatedRequest, slug: str, number: int) -> HttpResponse:
    question = _question(slug, number)

    def removed() -> str:
        one = Question.objects.filter(pk=question.pk)
        if remove_tag(one, request.POST.get("tag", ""), bank=question.bank, **by(request)):
            return _("The tag is removed.")
        return _("The question does not have this tag.")

    run_and_flash(request, removed)
    return redirect("question", slug, number)

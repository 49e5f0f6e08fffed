"""What reviewers said of the questions of a prompt: their comments, of which a person ticks what the next version
answers, and the history of its versions.
"""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_GET

from annotation.enums import KeySource, Role
from annotation.models import PromptVersion
from annotation.outcomes.prompt_flags import (
    GENERATING,
    MOST_COMMENTS,
    commented_questions,
    flagged_comments,
    prompt_flags,
)
from annotation.questionbank.answers import note_seen_keys
from annotation.statistics.kernels.issues import first_review_of_paper, later_errors_of_paper
from annotation.views.site.decorators import AuthenticatedRequest, role_required


@role_required(Role.COORDINATOR)
@require_GET
def prompt_comments(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """A comment may name the key: whoever reads it has seen it, and does not review the question any more."""
    version = _generating(public_id)
    comments = flagged_comments(version, request.user)
    questions = commented_questions(comments)
    note_seen_keys(request.user, questions, source=KeySource.REVIEWS, subject=version, at=timezone.now())
    context = {"version": version, "comments": comments, "is_cut": len(comments) == MOST_COMMENTS}
    return render(request, "annotation/prompts/comments.html", context)


@role_required(Role.COORDINATOR)
@require_GET
def prompt_history(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """All versions of the name, the newest first, and beside them what the paper counted."""
    version = _generating(public_id)
    versions = PromptVersion.objects.filter(name=version.name).select_related("author").order_by("-number")
    context = {
        "version": version,
        "flags": prompt_flags(list(versions.defer("text", "instruction", "schema")), request.user),
        "paper": first_review_of_paper(),
        "later": later_errors_of_paper(),
    }
    return render(request, "annotation/prompts/history.html", context)


def _generating(public_id: str) -> PromptVersion:
    """A version that makes findings or questions: no other has reviews."""
    version = get_object_or_404(PromptVersion, public_id=public_id)
    if version.purpose not in GENERATING:
        raise Http404
    return version

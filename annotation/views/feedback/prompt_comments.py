"""What reviewers wrote on the questions of a prompt; a person ticks what the next version answers."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_GET

from annotation.enums import KeySource, Role
from annotation.feedback.prompt_flags import GENERATING, MOST_COMMENTS, commented_questions, flagged_comments
from annotation.models import PromptVersion
from annotation.questionbank.answers import note_seen_keys
from annotation.views.site.decorators import AuthenticatedRequest, role_required


@role_required(Role.COORDINATOR)
@require_GET
def prompt_comments(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """A comment may name the key: whoever reads it has seen it, and does not review the question any more."""
    version = get_object_or_404(PromptVersion, public_id=public_id)
    if version.purpose not in GENERATING:
        raise Http404
    comments = flagged_comments(version, request.user)
    questions = commented_questions(comments)
    note_seen_keys(request.user, questions, source=KeySource.REVIEWS, subject=version, at=timezone.now())
    context = {"version": version, "comments": comments, "is_cut": len(comments) == MOST_COMMENTS}
    return render(request, "annotation/feedback/comments.html", context)

"""What people say about a question: its comments, and the page of what mentions a person."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Assignment, Question, QuestionComment
from annotation.review import commenting as acts
from annotation.review.commenting import parts_of
from annotation.review.kernels.visibility import DiscussionPart
from annotation.review.selected_questions import tags_at, tags_in
from annotation.views.site.confirming import flashed
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required

UNSENT = "unsent_comment"  # in the session: the text by the question, until its page is shown again
MOST_KEPT = 20_000  # characters of it
MOST_SHOWN = 100  # of what mentions a person; the next come when these are read and done


@person_required
@never_cache
@require_safe
def review_comments(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Comments on a question for a person who judged it, beside the wording that they judged."""
    theirs = Assignment.objects.select_related("revision__question__bank", "round")
    assignment = get_object_or_404(theirs, public_id=public_id, reviewer=request.user)
    revision = assignment.revision
    parts = acts.check_reads(revision.question, request.user)
    context = {
        "assignment": assignment,
        "revision": revision,
        "options": list(zip("ABCD", revision.options, strict=False)),
        **discussion_context(request, revision.question, parts),
    }
    acts.note_seen(revision.question, request.user, parts, by(request)["at"])
    return render(request, "annotation/discussion/comments.html", context)


def discussion_context(
    request: AuthenticatedRequest, question: Question, parts: frozenset[DiscussionPart]
) -> dict[str, object]:
    """What the fragments of comments and tags need; nothing for whoever may see neither."""
    if DiscussionPart.COMMENTS not in parts:
        return {}
    return {
        "question": question,
        "unsent": request.session.pop(UNSENT, {}).get(question.public_id, ""),
        "comments": acts.comments_of(question, request.user, parts),
        "mentionable": acts.mentionable(question, request.user, parts),
        "tags": tags_at(question, parts),
        "may_tag": DiscussionPart.CHANGE in parts,
        "known_tags": tags_in(question.bank, request.user) if DiscussionPart.CHANGE in parts else [],
    }


@person_required
@require_POST
def comment_add(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """A text that is refused is shown in its field again."""
    question = get_object_or_404(Question.objects.select_related("bank"), public_id=public_id)
    _check_reads(request, question)
    mentioned = [int(text) for text in request.POST.getlist("mentioned") if text.isascii() and text.isdecimal()]
    text, is_todo = request.POST.get("text", ""), "is_todo" in request.POST
    with flashed(request) as say:
        acts.add_comment(question, text, mentioned=mentioned, is_todo=is_todo, **by(request))
        say(_("The comment is stored."))
        return _back(request, question)
    if text:
        request.session[UNSENT] = {question.public_id: text[:MOST_KEPT]}
    return _back(request, question)


@person_required
@require_POST
def comment_withdraw(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    comment = _read_comment(request, public_id)
    with flashed(request) as say:
        acts.withdraw_comment(comment, **by(request))
        say(_("The comment is withdrawn."))
    return _back(request, comment.question)


@person_required
@require_POST
def comment_done(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    comment = _read_comment(request, public_id)
    with flashed(request) as say:
        acts.finish_todo(comment, **by(request))
        say(_("Done."))
    return _back(request, comment.question)


def _read_comment(request: AuthenticatedRequest, public_id: str) -> QuestionComment:
    comment = get_object_or_404(QuestionComment.objects.select_related("question__bank"), public_id=public_id)
    _check_reads(request, comment.question)
    return comment


def _check_reads(request: AuthenticatedRequest, question: Question) -> None:
    """Raises Http404 for whoever may read nothing there: to them it does not exist."""
    if DiscussionPart.COMMENTS not in parts_of(request.user, question):
        raise Http404


def _back(request: AuthenticatedRequest, question: Question) -> HttpResponse:
    if request.POST.get("back") == "mentions":
        return redirect("mentions")
    return redirect(acts.places_of([question], request.user)[question.pk])


@person_required
@never_cache
@require_safe
def mentions(request: AuthenticatedRequest) -> HttpResponse:
    """What is to be done and what is new, of the comments that mention this person."""
    rows = acts.mentions_of(request.user, MOST_SHOWN)
    return render(request, "annotation/discussion/mentions.html", {"rows": rows})

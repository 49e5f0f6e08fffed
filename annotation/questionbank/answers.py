"""What coordinators may see of a question's truth. Reviewers have their own way, after their own final answer."""

from __future__ import annotations

from annotation.models import AnswerKey, Revision, User
from annotation.permissions import is_coordinator


class TruthHidden(Exception):
    """This person must not see key, explanation and report."""


def truth_of(revision: Revision, *, person: User) -> AnswerKey:
    """Key, explanation and report, for coordinators of the site only. Raises TruthHidden."""
    if not is_coordinator(person):
        raise TruthHidden("key, explanation and report are for coordinators")
    return AnswerKey.objects.select_related("report").defer("extra").get(pk=revision.pk)

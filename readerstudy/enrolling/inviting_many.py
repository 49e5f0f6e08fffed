"""Readers invited from a file; see annotation.people.inviting_many."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext as _

from annotation.models import User
from annotation.people.invitation_file import EMAIL, NAME, ROLES, InvitedRow
from annotation.people.inviting_many import Issue, IssuedLink, RowRefused, common_effects
from readerstudy.design.studies import StudyRefused
from readerstudy.enrolling.inviting import check_takes_readers, invite_reader, open_invitations
from readerstudy.enrolling.mailing import send_study_invitation, study_link
from readerstudy.models import CaseSet, ReaderStudy, StudyInvitation


def issue_to_readers(study: ReaderStudy, *, actor: User, at: datetime) -> Issue:
    """How a row becomes the link of a reader. Raises StudyRefused for a study that takes nobody."""
    check_takes_readers(study)
    sets = list(study.sets.order_by("number"))

    def issue(row: InvitedRow) -> IssuedLink:
        case_set = _set_named(row, sets)
        waiting = open_invitations(study, at).filter(email=row.email) if row.email else StudyInvitation.objects.none()
        effects = common_effects(row, is_replacing=waiting.exists())
        try:
            issued = invite_reader(study, case_set, email=row.email, name=row.name, actor=actor, at=at)
        except StudyRefused as refusal:
            raise RowRefused(EMAIL if row.email else NAME, str(refusal)) from None
        gives = _("reader") if len(sets) == 1 else _("reader of “%(set)s”") % {"set": case_set.name}
        return IssuedLink(
            row,
            (gives,),
            effects,
            study_link(issued.token),
            issued.invitation.expires_at,
            lambda: send_study_invitation(issued),
        )

    return issue


def roles_meaning(study: ReaderStudy) -> str:
    """What the column of roles may hold."""
    sets = list(study.sets.order_by("number"))
    if len(sets) == 1:
        return _("“reader”, or empty.")
    names = ", ".join(f"reader of {one.name}" for one in sets)
    return _("Which cases the person reads: %(names)s.") % {"names": names}


def _set_named(row: InvitedRow, sets: list[CaseSet]) -> CaseSet:
    """Raises RowRefused; a person reads one set."""
    by_spelling = {f"reader {of} {one.name}".casefold(): one for one in sets for of in ("of", "of set", "in")}
    by_spelling |= {one.name.casefold(): one for one in sets}
    if len(sets) == 1:
        by_spelling |= {"reader": sets[0], "": sets[0]}
    if len(row.roles) > 1:
        raise RowRefused(
            ROLES, _("Nobody is a reader and something else in one study, or reads two sets: keep one role.")
        )
    text = row.roles[0] if row.roles else ""
    found = by_spelling.get("".join(letter for letter in text if letter not in "“”\"'").casefold())
    if found is not None:
        return found
    names = ", ".join(["reader"] if len(sets) == 1 else [f"reader of {one.name}" for one in sets])
    sentence = _(
        "“%(text)s” is not given here, where readers are invited. Write: %(names)s. Other roles need a link of their "
        "own, from the page of the round or the people of the site."
    )
    raise RowRefused(ROLES, sentence % {"text": text[:80], "names": names})

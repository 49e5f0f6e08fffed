"""Readers invited from a file; see annotation.people.invitation_file."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext as _

from annotation.models import User
from annotation.people.invitation_file import ROLES, Check, CheckedRow, InvitedLink, InvitedRow, effects_of
from readerstudy.enrolment.inviting import (
    check_address,
    check_order_left,
    check_takes_readers,
    free_orders,
    invite_reader,
    open_invitations,
)
from readerstudy.enrolment.mailing import send_study_invitation, study_link
from readerstudy.models import CaseSet, ReaderStudy
from readerstudy.study.locking import StudyRefused


def check_for_readers(study: ReaderStudy, *, actor: User, at: datetime) -> Check:
    """How a row becomes the link of a reader. Raises StudyRefused for a study that takes nobody.

    The orders that the rows before take, and those that replaced links give back, are counted here: nothing is stored.
    """
    check_takes_readers(study)
    sets = list(study.sets.order_by("number"))
    n_free = {one.pk: free_orders(one).count() for one in sets}
    promised = list(open_invitations(study, at).values_list("email", "case_set_id"))

    def check(row: InvitedRow) -> CheckedRow:
        case_set = _set_named(row, sets)
        others = [(email, of_set) for email, of_set in promised if not row.email or email != row.email]
        effects = effects_of(row, is_replacing=len(others) < len(promised))
        if row.email:
            check_address(study, case_set, row.email)
        check_order_left(case_set, n_free[case_set.pk], sum(of_set == case_set.pk for _email, of_set in others))
        promised[:] = [*others, (row.email, case_set.pk)]
        gives = _("reader") if len(sets) == 1 else _("reader of “%(set)s”") % {"set": case_set.name}

        def issue() -> InvitedLink:
            issued = invite_reader(study, case_set, email=row.email, name=row.name, actor=actor, at=at)
            until = issued.invitation.expires_at
            return InvitedLink(row, (gives,), study_link(issued.token), until, lambda: send_study_invitation(issued))

        return CheckedRow(row, (gives,), effects, issue)

    return check


def roles_meaning(study: ReaderStudy) -> str:
    """What the column of roles may hold."""
    sets = list(study.sets.order_by("number"))
    if len(sets) == 1:
        return _("“reader”, or empty.")
    names = ", ".join(f"reader of {one.name}" for one in sets)
    return _("Which cases the person reads: %(names)s.") % {"names": names}


def _set_named(row: InvitedRow, sets: list[CaseSet]) -> CaseSet:
    """Raises StudyRefused; a person reads one set."""
    by_spelling = {f"reader {of} {one.name}".casefold(): one for one in sets for of in ("of", "of set", "in")}
    by_spelling |= {one.name.casefold(): one for one in sets}
    if len(sets) == 1:
        by_spelling |= {"reader": sets[0], "": sets[0]}
    if len(row.roles) > 1:
        sentence = _("Nobody is a reader and something else in one study, or reads two sets: keep one role.")
        raise StudyRefused("row_refused", sentence, status=422, field=ROLES)
    text = row.roles[0] if row.roles else ""
    found = by_spelling.get("".join(letter for letter in text if letter not in "“”\"'").casefold())
    if found is not None:
        return found
    names = ", ".join(["reader"] if len(sets) == 1 else [f"reader of {one.name}" for one in sets])
    sentence = _(
        "“%(text)s” is not given here, where readers are invited. Write: %(names)s. Other roles need a link of their "
        "own, from the page of the round or the people of the site."
    )
    raise StudyRefused("row_refused", sentence % {"text": text[:80], "names": names}, status=422, field=ROLES)

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from annotation.enums import Role
from annotation.models import Assignment, BankImport, Membership, User
from annotation.people.invitations import IssuedInvitation, find_invitation, revoke
from readerstudy.enrolment import inviting
from readerstudy.enrolment.inviting import KIND, invite_reader, noted_reasons, open_invitations, reasons_against
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy, StudyInvitation, StudyRole
from readerstudy.study.permissions import StudyRefused
from tests.annotation.review.cases import make_round
from tests.readerstudy.studies import enrol, make_study


@pytest.fixture
def study(db: None) -> ReaderStudy:
    return make_study(n_orders=2)


def invite(study: ReaderStudy, cora: User, at: datetime, email: str = "") -> IssuedInvitation:
    return invite_reader(study, study.sets.get(), email=email, name="", actor=cora, at=at)


def test_a_second_link_for_an_address_replaces_the_first(study: ReaderStudy, cora: User, noon: datetime) -> None:
    first, second = invite(study, cora, noon, "n@example.org"), invite(study, cora, noon, "n@example.org")
    assert list(open_invitations(study, noon)) == [second.invitation]
    first.invitation.refresh_from_db()
    assert first.invitation.revoked_at == noon


def test_no_more_links_than_orders(study: ReaderStudy, cora: User, rita: User, noon: datetime) -> None:
    enrol(study, rita)
    open_one = invite(study, cora, noon)
    with pytest.raises(StudyRefused, match="taken or promised"):
        invite(study, cora, noon)
    revoke(open_one.invitation, actor=cora, at=noon)
    invite(study, cora, noon)
    assert [(one.n, one.n_taken, one.n_free) for one in inviting.orders_of(study)] == [(2, 1, 1)]


@pytest.mark.parametrize("state", [StudyState.DRAFT, StudyState.CLOSED, StudyState.ANALYSED])
def test_nobody_is_invited_where_nobody_can_start(cora: User, noon: datetime, state: StudyState) -> None:
    study = make_study(state=state)
    with pytest.raises(StudyRefused, match="draft" if state == StudyState.DRAFT else "closed"):
        invite(study, cora, noon)
    assert not StudyInvitation.objects.exists()


@pytest.mark.logs("study_invitation.renewed")
def test_a_reminder_is_a_new_link(study: ReaderStudy, cora: User, noon: datetime) -> None:
    old = invite(study, cora, noon, "n@example.org")
    later = noon + timedelta(days=10)
    new = inviting.remind_invited(old.invitation, actor=cora, at=later)
    assert find_invitation(old.token, KIND) is None
    assert find_invitation(new.token, KIND) == old.invitation
    assert (new.invitation.reminded_at, new.invitation.expires_at) == (later, later + timedelta(days=14))
    revoke(new.invitation, actor=cora, at=later)
    with pytest.raises(StudyRefused, match="nobody to remind"):
        inviting.remind_invited(new.invitation, actor=cora, at=later)


def test_nobody_is_reminded_of_a_study_that_is_over(study: ReaderStudy, cora: User, noon: datetime) -> None:
    """The letter would hold a link that lets nobody in."""
    issued = invite(study, cora, noon, "n@example.org")
    ReaderStudy.objects.update(state=StudyState.CLOSED)
    with pytest.raises(StudyRefused, match="The study is closed"):
        inviting.remind_invited(issued.invitation, actor=cora, at=noon)
    assert find_invitation(issued.token, KIND) == issued.invitation


def test_addresses_that_cannot_read(study: ReaderStudy, cora: User, rita: User, stan: User, noon: datetime) -> None:
    enrol(study, rita)
    with pytest.raises(StudyRefused, match="Rita is in this study already"):
        invite(study, cora, noon, rita.email)
    with pytest.raises(StudyRefused, match="Cora coordinates"):
        invite(study, cora, noon, cora.email)
    User.objects.filter(pk=stan.pk).update(is_active=False)
    with pytest.raises(StudyRefused, match="deactivated"):
        invite(study, cora, noon, stan.email)


# --- who must not read ---


def against(person: User, study: ReaderStudy) -> str:
    return " ".join(reasons_against(person, study, study.sets.get()))


def test_strangers_may_read(study: ReaderStudy, stan: User, rita: User) -> None:
    assert [against(person, study) for person in (stan, rita)] == ["", ""]


def test_administrators_may_not(study: ReaderStudy, ada: User) -> None:
    """The pages of a bank show them tasks and categories, which point to keys."""
    assert against(ada, study) == "Ada administers the site, and so can look up categories."


def test_coordinators_and_the_author_may_not(study: ReaderStudy, cora: User, stan: User, noon: datetime) -> None:
    assert "Cora coordinates" in against(cora, study)
    StudyRole.objects.create(study=study, user=stan, granted_at=noon)
    assert "Stan coordinates" in against(stan, study)
    StudyRole.objects.all().delete()
    ReaderStudy.objects.update(created_by=stan)
    study.refresh_from_db()
    assert against(stan, study) == "Stan designed this study."


def test_who_met_a_question_of_the_study_may_not(stan: User, rita: User, noon: datetime) -> None:
    review_round = make_round(rita, n_questions=2)
    study = make_study(bank=review_round.plan.bank, n_cases=0)
    assert against(rita, study) == ""
    case = study.cases.create(number=1, revision=Assignment.objects.earliest("pk").revision)
    case.sets.set(study.sets.all())
    assert "question of this study: 1" in against(rita, study)
    told = noted_reasons(rita, study, study.sets.get())
    assert told == [
        "You reviewed or imported questions of this study or its images, or review some now, and may know answers."
    ]
    assert against(stan, study) == ""
    Membership.objects.create(user=stan, role=Role.COORDINATOR, round=review_round, granted_at=noon)
    assert "coordinates a review round" in against(stan, study)


def test_who_imported_a_question_of_the_study_may_not(study: ReaderStudy, stan: User) -> None:
    BankImport.objects.filter(bank=study.bank).update(actor=stan)
    assert "imported questions of this study" in against(stan, study)

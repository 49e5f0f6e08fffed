"""The draft of a study is deleted as banks and rounds are: asked first, hidden everywhere, restorable for 30 days."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import timedelta
from io import StringIO
from itertools import product
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import get_resolver, reverse

from annotation.audit import deleting as acts
from annotation.jobs.queueing import handler_for
from annotation.models import AuditEvent, Image, Job, QuestionBank, Rendition, User
from annotation.questionbank.kernels.entries import BankRefused
from readerstudy.acts import studies
from readerstudy.design.creating import copy_study
from readerstudy.enums import StudyState
from readerstudy.models import Arm, ReaderStudy, StudyCase, StudyRole
from readerstudy.study.permissions import may_coordinate_study
from tests.annotation.bin.test_deleting import Silent, patterns, shown
from tests.conftest import NOON
from tests.readerstudy.design.drafts import make_draft, study_coordinator
from tests.readerstudy.studies import make_study
from tests.sweeps import in_share

HIDDEN = "Zanzibar"
LATER = NOON + timedelta(days=31)


@pytest.fixture
def draft(cora: User) -> ReaderStudy:
    made = make_draft(cora, name=HIDDEN)
    study_coordinator(made)
    return made


def addresses(study: ReaderStudy) -> Iterator[str]:
    meant: dict[str, list[Any]] = {
        "slug": [study.slug, study.bank.slug],
        "pk": [study.pk],
        "public_id": [*Image.objects.values_list("public_id", flat=True)[:2]],
        "name": [*Rendition.objects.values_list("name", flat=True)[:2]],
    }
    for pattern in patterns(get_resolver()):
        parts = list(pattern.pattern.converters) or list(pattern.pattern.regex.groupindex)
        for values in product(*(meant.get(part, ["x"]) for part in parts)):
            try:
                yield reverse(str(pattern.name), kwargs=dict(zip(parts, values, strict=True)))
            except Exception:
                continue


def found_by(client: Client, study: ReaderStudy, people: list[User], *, among: Collection[str] = ()) -> set[str]:
    """Where anybody finds it, on the whole site or among some of its addresses."""
    found = set()
    for person in people:
        client.force_login(person)
        for address in among or addresses(study):
            if address in (reverse("bin"), reverse("logout")) or not (among or in_share(address)):
                continue
            if HIDDEN in shown(client, address):
                found.add(address)
    return found


@pytest.mark.sweep
@pytest.mark.usefixtures("no_log")
def test_a_draft_in_the_bin_stands_on_no_page(client: Client, draft: ReaderStudy, ada: User, cora: User) -> None:
    people = [ada, cora, StudyRole.objects.get().user]
    pages = {"/", "/studies/", "/studies/zanzibar/", "/studies/zanzibar/cases/"}
    assert found_by(client, draft, people, among=pages) == pages <= set(addresses(draft))
    acts.move_to_bin(draft, actor=cora, at=NOON)
    log = {"/audit/", "/api/v1/audit-events/", "/api/v1/audit-log/"}  # which tells what was deleted
    assert found_by(client, draft, people) == set(filter(in_share, log))
    client.force_login(cora)
    assert HIDDEN in shown(client, reverse("bin"))


def test_commands_do_not_find_it(draft: ReaderStudy, cora: User) -> None:
    acts.move_to_bin(draft, actor=cora, at=NOON)
    with pytest.raises((CommandError, SystemExit)):
        call_command("export_protocol", HIDDEN, stdout=StringIO(), stderr=StringIO())


def test_deleting_asks_first_and_is_undone_by_a_button(client: Client, draft: ReaderStudy, cora: User) -> None:
    address = reverse("study-delete", args=[draft.slug])
    client.force_login(StudyRole.objects.get().user)
    asked = client.post(address)
    assert asked.status_code == 200
    assert "The choice of its" in asked.content.decode()
    assert "for 30 days" in asked.content.decode()
    assert client.post(address, {"confirmed": "yes"}, follow=True).redirect_chain[-1][0] == "/bin/"
    assert not ReaderStudy.objects.exists()
    n_cases = StudyCase.objects.count()
    client.force_login(cora)
    assert client.post(address, {"confirmed": "yes"}).status_code == 404
    assert client.post(reverse("bin-restore", args=["study", draft.pk])).url == "/studies/zanzibar/"  # type: ignore[attr-defined]
    assert ReaderStudy.objects.get().cases.count() == n_cases > 0
    said = AuditEvent.objects.filter(act__in=["study.binned", "study.restored"]).order_by("pk")
    assert list(said.values_list("act", flat=True)) == ["study.binned", "study.restored"]


def test_who_coordinates_only_this_study_restores_what_they_deleted(
    client: Client, draft: ReaderStudy, cora: User, rita: User
) -> None:
    ruth = StudyRole.objects.get().user
    other = make_study("Of others", state=StudyState.DRAFT)
    acts.move_to_bin(other, actor=cora, at=NOON)
    restore = reverse("bin-restore", args=["study", draft.pk])
    client.force_login(ruth)
    assert client.get(reverse("bin")).status_code == 403  # nothing there is theirs
    assert "you and coordinators of the site" in client.post(f"/studies/{draft.slug}/delete/").content.decode()
    done = client.post(f"/studies/{draft.slug}/delete/", {"confirmed": "yes"}, follow=True)
    assert done.status_code == 200
    assert f'action="{restore}"' in done.content.decode()
    client.force_login(rita)
    assert reverse("bin") not in client.get("/studies/").content.decode()
    assert (client.get(reverse("bin")).status_code, client.post(restore).status_code) == (403, 404)
    client.force_login(ruth)
    page = client.get(reverse("bin")).content.decode()
    assert HIDDEN in page
    assert "Of others" not in page
    assert client.post(reverse("bin-restore", args=["study", other.pk])).status_code == 404
    assert client.post(restore)["Location"] == f"/studies/{draft.slug}/"
    assert list(ReaderStudy.objects.all()) == [draft]


def test_who_coordinates_it_no_more_restores_nothing(client: Client, draft: ReaderStudy) -> None:
    ruth = StudyRole.objects.get().user
    acts.move_to_bin(draft, actor=ruth, at=NOON)
    StudyRole.objects.all().delete()
    client.force_login(ruth)
    assert client.get(reverse("bin")).status_code == 403
    assert client.post(reverse("bin-restore", args=["study", draft.pk])).status_code == 404


def test_its_name_is_free_and_it_comes_back_under_another(draft: ReaderStudy, cora: User) -> None:
    acts.move_to_bin(draft, actor=cora, at=NOON)
    make_study(HIDDEN, state=StudyState.DRAFT)
    acts.restore(draft, actor=cora, at=NOON)
    assert sorted(ReaderStudy.objects.values_list("name", "slug")) == [
        (HIDDEN, "zanzibar"),
        (f"{HIDDEN} (2)", "zanzibar-2"),
    ]


def test_it_goes_for_good_after_30_days_and_its_bank_after_it(draft: ReaderStudy, cora: User) -> None:
    acts.move_to_bin(draft, actor=cora, at=NOON)
    assert acts.empty_bin(NOON + timedelta(days=30) - timedelta(seconds=1)) == 0
    assert acts.empty_bin(LATER) == 1
    assert not ReaderStudy.everywhere.exists()
    assert not StudyCase.objects.exists()
    assert not Arm.objects.exists()
    assert AuditEvent.objects.get(act="study.deleted").facts == {"name": HIDDEN, "deleted_by": cora.pk}


def test_its_bank_waits_in_the_bin_for_it(draft: ReaderStudy, cora: User) -> None:
    Image.objects.all().delete()
    bank = draft.bank
    with pytest.raises(BankRefused, match="reader study"):
        acts.move_to_bin(bank, actor=cora, at=NOON)
    acts.move_to_bin(draft, actor=cora, at=LATER)
    acts.move_to_bin(bank, actor=cora, at=NOON)
    with pytest.raises(acts.BinRefused, match="Restore its question bank"):
        acts.restore(draft, actor=cora, at=LATER)
    acts.empty_bin(LATER)
    for job in Job.objects.all():
        handler_for(job.kind).run(Silent(), job.params)
    assert QuestionBank.everywhere.filter(pk=bank.pk).exists()


def test_what_is_frozen_or_copied_stays(draft: ReaderStudy, cora: User) -> None:
    with pytest.raises(acts.BinRefused, match="frozen and stays"):
        acts.move_to_bin(make_study("Frozen", state=StudyState.FROZEN), actor=cora, at=NOON)
    copied = copy_study(draft, name="Copy", actor=cora, at=NOON)
    with pytest.raises(acts.BinRefused, match="Copies"):
        acts.move_to_bin(draft, actor=cora, at=NOON)
    acts.move_to_bin(copied, actor=cora, at=NOON + timedelta(days=1))
    acts.move_to_bin(draft, actor=cora, at=NOON)
    assert acts.empty_bin(NOON + timedelta(days=30, hours=1)) == 0  # the copy comes first
    assert acts.empty_bin(LATER + timedelta(days=1)) >= 1


@pytest.mark.parametrize(
    ("step", "sent"),
    [
        ("open", {"confirmed": "yes"}),
        ("close", {"confirmed": "yes"}),
        ("archive", {"confirmed": "yes"}),
        ("bring-back", {}),
        ("freeze", {"confirmed": "yes", "do": "freeze"}),
        ("delete", {"confirmed": "yes"}),
        ("arms", {"information": "age_sex", "aid": "none"}),
        ("rules", {}),
        ("readers", {"n_readers": "4"}),
        ("forecast", {}),
        ("cases", {"do": "store", "seed": "7"}),
        ("invite", {"emails": "ruth@example.org"}),
        ("copy", {"confirmed": "yes", "name": "Copy"}),
    ],
)
def test_an_act_that_meets_the_move_to_the_bin_is_refused(
    client: Client, draft: ReaderStudy, cora: User, step: str, sent: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def may_until_it_is_deleted(person: User, study: ReaderStudy) -> bool:
        acts.move_to_bin(ReaderStudy.everywhere.get(pk=study.pk), actor=cora, at=NOON)
        return may_coordinate_study(person, study)

    monkeypatch.setattr(studies, "may_coordinate_study", may_until_it_is_deleted)
    client.force_login(cora)
    assert client.post(f"/studies/{draft.slug}/{step}/", sent).status_code in (302, 404, 409, 422)
    assert ReaderStudy.everywhere.get(pk=draft.pk).state == StudyState.DRAFT


def test_who_coordinates_only_a_study_in_the_bin_enters_no_models(
    client: Client, draft: ReaderStudy, cora: User
) -> None:
    client.force_login(StudyRole.objects.get().user)
    for route in ("models", "model-new"):
        assert client.get(reverse(route)).status_code == 200
    acts.move_to_bin(draft, actor=cora, at=NOON)
    for route in ("models", "model-new"):
        assert client.get(reverse(route)).status_code == 403

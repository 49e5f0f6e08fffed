"""What is deleted is found nowhere but in the bin, can be restored from there, and goes for good after 30 days."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from io import StringIO
from itertools import product
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from annotation.audit import deleting as acts
from annotation.audit.deleting import BinRefused
from annotation.enums import Role, RoundState
from annotation.jobs.queueing import handler_for
from annotation.models import (
    Assignment,
    AuditEvent,
    BankImport,
    Exam,
    Image,
    Invitation,
    Job,
    Membership,
    Question,
    QuestionBank,
    ReviewRound,
    SamplingPlan,
    Upload,
    User,
)
from annotation.people import invitations
from tests.annotation.review.cases import make_bank, make_round
from tests.conftest import NOON, make_person
from tests.refusals import refuses
from tests.sweeps import in_share

HIDDEN = "Zanzibar"
LATER = NOON + timedelta(days=31)


class Silent:
    def report(self, done: int, total: int, message: str = "") -> None: ...


@dataclass
class World:
    bank: QuestionBank
    plan: SamplingPlan
    round: ReviewRound
    upload: Upload
    images: list[str]
    assignments: list[str]
    token: str

    @property
    def rows(self) -> list[Any]:
        """In the order in which they can be deleted."""
        return [self.round, self.plan, self.upload, self.bank]

    def delete(self, actor: User) -> None:
        for row in self.rows:
            acts.move_to_bin(row, actor=actor, at=NOON)


@pytest.fixture
def world(ada: User, cora: User, rita: User) -> World:
    bank = make_bank(HIDDEN)
    made = make_round(rita, bank=bank, name=f"{HIDDEN}-round", stem=f"What is seen in {HIDDEN}?")
    Exam.objects.update(bank_import=BankImport.objects.get())
    SamplingPlan.objects.update(name=f"{HIDDEN} sample")
    Membership.objects.create(user=make_person("Ruth"), role=Role.COORDINATOR, round=made, granted_at=NOON)
    issued = invitations.invite(invitations.Grant(Role.REVIEWER, made), email="", name=HIDDEN, actor=ada, at=NOON)
    upload = Upload.objects.create(created_by=cora, created_at=NOON, purpose="images", bank=bank, n_files=424_242)
    names = Assignment.objects.values_list("public_id", flat=True)
    images = list(Image.objects.values_list("public_id", flat=True))
    return World(bank, SamplingPlan.objects.get(), made, upload, images, list(names), issued.token)


def patterns(resolver: URLResolver) -> Iterator[URLPattern]:
    for entry in resolver.url_patterns:
        yield from patterns(entry) if isinstance(entry, URLResolver) else [entry]


def addresses(world: World) -> Iterator[tuple[str, str]]:
    """Everything on the site, each with whatever it could show of what is deleted."""
    slugs = [row.slug for row in world.rows if not isinstance(row, Upload)]
    pks = [*(row.pk for row in world.rows), *User.objects.values_list("pk", flat=True)]
    meant: dict[str, list[Any]] = {
        "slug": slugs,
        "pk": sorted(set(pks)),
        "number": [1],
        "public_id": [world.upload.public_id, world.images[0], world.assignments[0]],
        "token": [world.token],
        "form": ["csv", "json"],
    }
    for pattern in patterns(get_resolver()):
        if pattern.pattern.converters and str(pattern.callback.__module__).startswith("readerstudy"):
            continue  # its pages about one study, reader or run: a bank that one refers to is not deleted
        parts = list(pattern.pattern.converters) or list(pattern.pattern.regex.groupindex)
        for values in product(*(meant.get(part, ["x"]) for part in parts)):
            try:
                yield str(pattern.name), reverse(str(pattern.name), kwargs=dict(zip(parts, values, strict=True)))
            except Exception:
                continue


def shown(client: Client, address: str) -> str:
    answer = client.get(address, follow=True)
    return answer.getvalue().decode("utf-8", "replace")


@pytest.mark.sweep
@pytest.mark.usefixtures("no_log")
def test_what_is_deleted_stands_on_no_page(client: Client, world: World, ada: User, cora: User, rita: User) -> None:
    people = [ada, cora, rita, User.objects.get(name="Ruth")]
    pages = {
        *("home", "banks", "bank", "question", "question-import-new", "image", "images", "samples", "sample"),
        *("sample-new", "rounds", "round", "round-new", "round-invite", "round-reviewer", "people"),
        *("person", "review-rounds", "review-worklist", "review-case", "uploads", "upload", "upload-new"),
        *("invitation", "study-new"),
    }
    assert {name for _person, name in found_by(client, world, people, once_on=pages)} == set(filter(in_share, pages))
    world.delete(cora)
    log = ("audit-log", "api-audit-log", "api-audit-events")  # which tells administrators what was deleted
    assert found_by(client, world, people) == {("Ada", name) for name in log if in_share(name)}
    page = shown_to(client, cora, reverse("bin"))
    assert all(str(row) in page for row in world.rows)


def found_by(
    client: Client, world: World, people: list[User], *, once_on: set[str] | None = None
) -> set[tuple[str, str]]:
    """Who finds something of it on which page; or the first who does on each of these pages, where some are named."""
    found: set[tuple[str, str]] = set()
    for person in people:
        client.force_login(person)
        for name, address in addresses(world):
            if not in_share(name) or (once_on is not None and name not in once_on - {name for _person, name in found}):
                continue
            page = "" if name in ("bin", "logout") else shown(client, address)
            if HIDDEN in page or "424,242" in page:
                found.add((person.name, name))
    return found


def shown_to(client: Client, person: User, address: str) -> str:
    client.force_login(person)
    return shown(client, address)


@pytest.mark.parametrize(
    "command", [("export_reviews", f"{HIDDEN}-round"), ("ingest_images", "/tmp", "--bank", HIDDEN.lower())]
)
def test_commands_do_not_find_it(world: World, cora: User, command: tuple[str, ...]) -> None:
    world.delete(cora)
    with pytest.raises((CommandError, SystemExit)):
        call_command(*command, stdout=StringIO(), stderr=StringIO())


def test_everything_comes_back_in_turn(world: World, cora: User, rita: User, client: Client) -> None:
    world.delete(cora)
    assert not QuestionBank.objects.exists()
    with refuses(BinRefused, "parent_deleted", match="Restore its sample"):
        acts.restore(world.round, actor=cora, at=LATER)
    for row in reversed(world.rows):
        acts.restore(row, actor=cora, at=NOON)
    assert ReviewRound.objects.get().state == RoundState.DRAFT
    assert Assignment.objects.count() == 3
    assert Invitation.objects.count() == 1
    assert shown_to(client, cora, reverse("question", args=["zanzibar", 1])).count(HIDDEN)
    events = AuditEvent.objects.order_by("pk")
    said = [act for act in events.values_list("act", flat=True) if act.endswith((".binned", ".restored"))]
    assert said[-8:-4] == ["round.binned", "sample.binned", "upload.binned", "bank.binned"]
    assert said[-4:] == ["bank.restored", "upload.restored", "sample.restored", "round.restored"]


def test_its_name_is_free_and_it_comes_back_under_another(world: World, cora: User) -> None:
    world.delete(cora)
    make_bank(HIDDEN)
    acts.restore(world.bank, actor=cora, at=NOON)
    assert sorted(QuestionBank.objects.values_list("name", "slug")) == [
        (HIDDEN, "zanzibar"),
        (f"{HIDDEN} (2)", "zanzibar-2"),
    ]


def test_the_bin_is_emptied_after_30_days(world: World, cora: User) -> None:
    world.delete(cora)
    assert acts.empty_bin(NOON + timedelta(days=30) - timedelta(seconds=1)) == 0
    assert acts.empty_bin(LATER) == 3
    assert acts.empty_bin(LATER) == 0
    job = Job.objects.get()
    acts.restore(world.bank, actor=cora, at=LATER)
    assert handler_for(job.kind).run(Silent(), job.params) == {"deleted": ""}, "it was restored before it was deleted"
    assert Question.objects.count() == 3
    acts.move_to_bin(QuestionBank.objects.get(), actor=cora, at=NOON)
    assert handler_for(job.kind).run(Silent(), job.params) == {"deleted": HIDDEN}
    assert handler_for(job.kind).run(Silent(), job.params) == {"deleted": ""}
    assert not Question.objects.exists()
    assert not QuestionBank.everywhere.exists()
    gone = AuditEvent.objects.filter(act__endswith=".deleted", actor=None)
    kinds = ("bank", "round", "sample", "upload")
    assert sorted(gone.values_list("act", flat=True)) == [f"{kind}.deleted" for kind in kinds]
    assert {event.facts["deleted_by"] for event in gone} == {cora.pk}


@pytest.mark.parametrize("kind", ["round", "sample", "upload", "bank"])
def test_deleting_asks_first_and_is_for_administrators(
    client: Client, world: World, ada: User, cora: User, kind: str
) -> None:
    for row in world.rows[: [acts.kind_of(one) for one in world.rows].index(kind)]:
        acts.move_to_bin(row, actor=cora, at=NOON)
    row = next(one for one in world.rows if acts.kind_of(one) == kind)
    address = reverse(f"{kind}-delete", args=[row.public_id if isinstance(row, Upload) else row.slug])
    client.force_login(cora)
    assert client.post(address, {"confirmed": "yes"}).status_code == 403
    client.force_login(ada)
    asked = client.post(address)
    assert asked.status_code == 200
    assert "for 30 days" in asked.content.decode()
    assert type(row).objects.filter(pk=row.pk).exists()
    assert client.post(address, {"confirmed": "yes"}).status_code == 302
    assert not type(row).objects.filter(pk=row.pk).exists()
    assert client.post(address, {"confirmed": "yes"}).status_code == 404
    client.force_login(cora)
    assert client.post(reverse("bin-restore", args=[kind, row.pk])).status_code == 302
    assert type(row).objects.filter(pk=row.pk).exists()
    assert client.post(reverse("bin-restore", args=[kind, row.pk])).status_code == 404
    assert client.post(reverse("bin-restore", args=["study", row.pk])).status_code == 404


@pytest.mark.parametrize("kind", ["sample", "bank"])
def test_what_is_in_use_stays_and_its_page_says_why(administrator: Client, world: World, kind: str) -> None:
    row = next(one for one in world.rows if acts.kind_of(one) == kind)
    for sent in ({}, {"confirmed": "yes"}):
        answer = administrator.post(reverse(f"{kind}-delete", args=[row.slug]), sent, follow=True)
        assert answer.redirect_chain == [(reverse(kind, args=[row.slug]), 302)]
        assert f"archive the {kind} instead" in answer.content.decode()
    assert type(row).objects.filter(pk=row.pk).exists()

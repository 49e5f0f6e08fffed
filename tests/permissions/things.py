"""What stands in addresses: by how their names begin, the things that are asked about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from allauth.usersessions.models import UserSession
from django.db.models import QuerySet
from django.test import Client
from django.utils import timezone

from annotation.audit.deleting import move_to_bin
from annotation.enums import RenditionKind, Role
from annotation.models import (
    AccessToken,
    ColumnMatching,
    Invitation,
    Question,
    QuestionComment,
    Rendition,
    ReviewForm,
    User,
    ValidatorRun,
)
from annotation.models.people import TokenScope
from annotation.questionbank.archives import place_of_picture
from annotation.questionbank.uploads import FILES
from readerstudy.models import AnalysisReport, Enrolment, ReaderStudy
from tests.browser.pages.place import Place
from tests.readerstudy.studies import places_of

ROUNDS = {"draft": "draft", "open": "open", "disputed": "adjudication", "closed": "closed", "calibrated": "of others"}
REVIEWERS = {"draft": "rita", "open": "rita", "closed": "rita", "disputed": "nora", "calibrated": "nora"}
STUDIES = {
    "study draft": "draft",
    "study frozen": "frozen",
    "trial": "open",
    "over": "closed",
    "study results": "unblinded",
    "room": "of others",
}


@dataclass(frozen=True)
class Thing:
    """``label``: its state, or "of others" where nobody asks who has a part in it; empty: it makes no difference."""

    label: str
    values: Mapping[str, Any]


def things_of(place: Place) -> dict[str, list[Thing]]:
    there = place.things
    found = {**_of_rounds(place), **_of_studies(place), **_of_people(place), **_of_models(place), **_of_boards(place)}
    bank, written, image = there["bank"], there["generated bank"], there["image"]
    mine = {
        "own": "blind",
        "own and submitted": "submitted",
        "own in a closed round": "read_only",
        "of others": "discussed",
    }
    held = there["held"].renditions.first()
    commented = QuestionComment.objects.filter(question__bank=bank, question__number=2).first()
    judged = ValidatorRun.objects.filter(bank=written).first()
    case = Rendition.objects.filter(image__exam__questions__revisions=there["blind"].revision_id)
    elsewhere = Rendition.objects.filter(image__exam__questions__bank=there["room"].bank)
    picture = place_of_picture(FILES.folder_of(there["upload checked"]), "1/pa.png")
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_bytes(b"")
    move_to_bin(there["empty"], actor=place.people["cora"], at=timezone.now())
    return found | {
        "review": [Thing(label, {"public_id": there[name].public_id}) for label, name in mine.items()],
        "review-form": _one(pk=ReviewForm.objects.first()),
        "bank": _one(slug=bank.slug, public_id=there["permission"].public_id, code="c1", **_FIGURE),
        "bank-release-file": _one(slug=bank.slug, public_id=there["release"].public_id, what="files"),
        "release": _one(slug=bank.slug, public_id=there["release"].public_id, what="files"),
        "import": _one(slug=bank.slug, public_id=there["upload checked"].public_id),
        "question": _one(slug=bank.slug, number=2),
        "revision": _one(slug=bank.slug, number=2, revision=1),
        "finding-dismiss": _one(slug=bank.slug, number=2, public_id="none"),
        "question-template": _one(form="csv"),
        "question-import": _one(public_id=there["upload checked"].public_id, form="csv"),
        "question-import-picture": _one(public_id=there["upload checked"].public_id, name=picture.stem),
        "question-import-columns": _one(public_id=there["upload foreign"].public_id),
        "matching": _one(pk=ColumnMatching.objects.first()),
        "generation-run": _one(slug=written.slug, public_id=there["generation"].public_id, act="stop"),
        "validator-run": _one(slug=written.slug, public_id=judged, act="stop"),
        "bank-class-threshold": _one(slug=written.slug, public_id=there["labelled set"].public_id),
        "pair-": _one(slug=written.slug, public_id=there["pairs open"].public_id),
        "prompt": _one(public_id=there["version 2"].public_id, other=there["version 1"].public_id),
        "comment": _one(slug=bank.slug, number=2, public_id=commented),
        "bank-change": _one(slug=bank.slug, public_id="none"),
        "comment-add": _one(public_id=Question.objects.get(bank=bank, number=2)),
        "rendition": _images(case, elsewhere, RenditionKind.FULL),
        "thumbnail": _images(case, elsewhere, RenditionKind.PREVIEW),
        "image": _one(public_id=image.public_id),
        "exam": _one(public_id=image.exam.public_id),
        "quarantine": _one(public_id=there["held"].public_id, name=held.name),
        "upload": _one(public_id=there["upload taken"].public_id),
        "sample": _one(slug=there["sample"].slug),
        "bin-restore": _one(kind="bank", pk=there["empty"].pk),
        "job": _one(public_id=there["job queued"].public_id),
        "submissions": _one(slug=bank.slug),
        "model-endpoint": _one(name="probed"),
        "site-webhook": _one(name="none", public_id="none"),
    }


_FIGURE = {"figure": "outcomes", "name": "accuracy", "width": "one", "form": "svg"}


def _one(**values: Any) -> list[Thing]:
    """A row stands for its own id, number or slug."""
    return [Thing("", {name: _id_of(name, value) for name, value in values.items()})]


def _id_of(name: str, value: Any) -> Any:
    return getattr(value, name, value)


def _images(case: QuerySet[Rendition], elsewhere: QuerySet[Rendition], kind: RenditionKind) -> list[Thing]:
    both = {"of an own case": case, "of others": elsewhere}
    return [Thing(label, {"name": rows.filter(kind=kind)[0].name}) for label, rows in both.items()]


def _of_rounds(place: Place) -> dict[str, list[Thing]]:
    there = place.things
    rounds = [
        Thing(label, {"slug": there[name].slug, "pk": place.people[REVIEWERS[name]].pk, **_FIGURE})
        for name, label in ROUNDS.items()
    ]
    files = [Thing(one.label, {**one.values, "form": "csv"}) for one in rounds]
    settled = _one(public_id=there["settlement"].public_id)
    calibrated = [Thing(name, {"slug": there[name].slug}) for name in ("calibrated", "closed")]
    return {
        "round": rounds,
        "round-export": files,
        "round-reviews": files,
        "round-invitation-revoke": _one(slug=there["open"].slug, pk=there["open"].invitations.first()),
        "calibration": calibrated,
        "calibration-let-in": rounds,
        "adjudication": rounds,
        "adjudication-question": _one(public_id=there["settlement"].assignment.public_id),
        "adjudication-decide": settled,
        "adjudication-revise": settled,
        **{f"review-{page}": rounds for page in ("worklist", "decisions", "continue")},
    }


def _of_studies(place: Place) -> dict[str, list[Thing]]:
    there, results = place.things, place.things["study results"]
    studies = [Thing(label, {"slug": there[name].slug}) for name, label in STUDIES.items()]
    read = {label: there[name] for name, label in STUDIES.items() if there[name].enrolments.exists()}
    seats = [Thing(label, {"slug": one.slug, **_seat(one)}) for label, one in read.items()]
    tables = [Thing(one.label, {**one.values, "table": "responses", "form": "csv"}) for one in studies]
    dry = [Thing(one.label, {**one.values, "place": "1", "act": "open"}) for one in studies]
    trial = {"slug": there["trial"].slug}
    analysis = there["analysis"]
    made = AnalysisReport.objects.get(analysis=analysis)
    inside = _one(
        slug=results.slug, public_id=analysis.public_id, first=0, second=1, report_id=made.public_id, **_FIGURE
    )
    pages = "analysis analysed agreement pair categories items times figure figures report reports share"
    return {
        "study": studies,
        "reading": studies,
        **{f"reading-{act}": seats for act in ("open", "choice", "events", "commit", "remark")},
        "study-reader": seats,
        "study-readers": studies,
        "study-dry-case": dry,
        "study-export": tables,
        "study-codebook": tables,
        "study-invitations": studies,
        "study-invitation-re": _one(**trial, pk=there["trial"].invitations.first()),
        "study-invitation": _one(token=there["study link"]),
        "study-job": _one(slug=results.slug, public_id="none"),
        **{f"study-{page}": inside for page in pages.split()},
        "study-share-re": _one(slug=results.slug, pk=analysis.links.get()),
        "shared": _one(token=there["results link"], **_FIGURE),
    }


def _seat(study: ReaderStudy) -> dict[str, Any]:
    """The last reader who came, and a case of theirs."""
    last = Enrolment.objects.filter(study=study).latest("pk")
    return {"public_id": last.public_id, "place": places_of(last)[0].public_id}


def _of_people(place: Place) -> dict[str, list[Thing]]:
    there, remo, now = place.things, place.people["remo"], timezone.now()
    token = AccessToken.objects.create(
        public_id="a" * 12,
        token_sha256="0" * 64,
        owner=place.people["cora"],
        name="Nightly",
        role=Role.COORDINATOR,
        scope=TokenScope.SITE,
        created_at=now,
        expires_at=now + timedelta(days=9),
    )
    invitations = {"of the site": None, "open": there["open"]}
    return {
        "token-revoke": _one(public_id=token),
        "email-confirm": _one(token="none"),
        "session-end": _one(pk=_session_of(place.people["cora"])),
        "mfa_remove_webauthn": _one(pk=there["passkey"]),
        "password-reset-confirm": _one(uidb64=there["uid"], token=there["reset token"]),
        "invitation": _one(token=there["link"]),
        "invitation-re": [
            Thing(label, {"pk": Invitation.objects.filter(kind=Invitation.ROLE, round=one)[0].pk})
            for label, one in invitations.items()
        ],
        "person": _one(pk=remo, membership=remo.memberships.get(role=Role.REVIEWER).pk),
        "audit-thing": _one(kind="reviewround", name=there["open"].pk),
    }


def _session_of(person: User) -> UserSession:
    client = Client()
    client.force_login(person)
    key = client.session.session_key
    row: UserSession = UserSession.objects.create(user=person, session_key=key, ip="127.0.0.1", user_agent="Firefox")
    return row


def _of_boards(place: Place) -> dict[str, list[Thing]]:
    there = place.things
    boards = {"draft": "board draft", "own": "board", "of others": "board of others"}
    teams = {"own": ("board", "team"), "of others": ("board of others", "team of others")}
    own_teams = [
        Thing(label, {"slug": there[board].slug, "public_id": there[team].public_id})
        for label, (board, team) in teams.items()
    ]
    return {
        "leaderboard": [Thing(label, {"slug": there[name].slug}) for label, name in boards.items()],
        "leaderboard-team": own_teams,
        "leaderboard-member": own_teams,
    }


def _of_models(place: Place) -> dict[str, list[Thing]]:
    there = place.things
    models = {"own": "model new", "of others": "model listed"}
    return {
        "model": [Thing(label, {"public_id": there[name].public_id}) for label, name in models.items()],
        "prediction-import-new": [Thing(label, {"public_id": there[name].public_id}) for label, name in models.items()],
        "leaderboard-": _one(slug=there["benchmark"].slug, number=1, version=1),
        "models-compare": _one(slug=there["study draft"].bank.slug, public_id="none", form="csv"),
        "prediction-import": _one(public_id=there["sent good"].public_id),
        "prediction-run": _one(public_id=there["run 1"].public_id),
        "leaderboard-statement": _one(slug=there["board"].slug, public_id=there["statement new"].public_id),
        "leaderboard-card": _one(slug=there["board"].slug, public_id=there["statement new"].public_id),
        "leaderboard-submission": _one(slug=there["board"].slug, public_id=there["submission passed"].public_id),
        "leaderboard-report": _one(slug=there["board"].slug, public_id=there["submission passed"].public_id),
        "model-run": _one(public_id=there["at work running"].public_id, number=3, sha256="0" * 64),
    }

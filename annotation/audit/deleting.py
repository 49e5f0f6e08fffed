"""What leaves the lists, archived or in the bin; and what must not stay for good, because it may name patients.

What is archived is not offered any more, and nothing that was made from it changes. What is deleted is hidden
everywhere for 30 days, can be restored, and then goes for good: each room says what prevents deleting, restoring and
emptying; how it is done is written here once.

Originals that a killed process left in the folder for temporary files, files of questions whose bank is gone or that
were never stored, e-mails that were never sent, and the names of refused files in the reports of uploads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.utils.functional import Promise
from msgspec import Struct

from annotation.audit.recording import record
from annotation.contributions import contributed
from annotation.enums import JobState
from annotation.models import BankImport, Job, Upload, User
from annotation.models.fields import Deletable
from annotation.refusals import Refused
from annotation.site import home_files
from annotation.site.permissions import is_administrator, is_coordinator
from annotation.site.sentences import free_slug


@transaction.atomic
def archive(row: models.Model, *, actor: User, at: datetime) -> None:
    _change(row, at, "archived", actor=actor, at=at)


@transaction.atomic
def bring_back(row: models.Model, *, actor: User, at: datetime) -> None:
    _change(row, None, "brought_back", actor=actor, at=at)


def _change(row: models.Model, archived_at: datetime | None, word: str, *, actor: User, at: datetime) -> None:
    act = f"{contributed().archived[type(row)]}.{word}"
    if (row.archived_at is None) == (archived_at is None):  # type: ignore[attr-defined]  # every registered model has it
        return
    row.archived_at = archived_at  # type: ignore[attr-defined]
    row.save(update_fields=["archived_at"])
    record(act, actor=actor, at=at, subject=row)


KEPT_FOR = timedelta(days=30)
Row = Deletable


class BinRefused(Refused):
    """Something refers to the row, or it hangs on something in the bin; the sentence says what."""


class BinKind(Struct, frozen=True):
    """A kind of row that goes into the bin, with functions of its room."""

    model: Any  # a Deletable with the managers ``objects`` and ``everywhere``, and a name and a slug or a public id
    label: str | Promise
    hide: Callable[[Any], object]  # before it goes; raises the refusal of its room where something refers to it
    show: Callable[[Any], object]  # before it comes back; raises BinRefused where what it hangs on is in the bin
    purge: Callable[[Any, datetime], bool]  # deletes it for good; False where something still refers to it
    consequences: Callable[[Any], list[str]] | None = None  # what follows from deleting it, in sentences
    may: Callable[[User, Any], bool] | None = None  # whether who deleted it restores it without a role on the site


def bin_kinds() -> dict[str, BinKind]:
    """In the order in which the bin is emptied: what hangs on others goes before them."""
    return dict(reversed(contributed().bin_kinds.items()))


class Deleted(Struct, frozen=True):
    """A row in the bin."""

    kind: str
    row: Row
    gone_at: datetime

    @property
    def name(self) -> str:
        return str(self.row)


def kind_of(row: Row) -> str:
    return next(word for word, kind in bin_kinds().items() if type(row) is kind.model)


def check_deletable(row: Row) -> None:
    """Raises what ``move_to_bin`` would raise; changes nothing."""
    with transaction.atomic():
        bin_kinds()[kind_of(row)].hide(row)
        transaction.set_rollback(True)


@transaction.atomic
def move_to_bin(row: Row, *, actor: User, at: datetime) -> None:
    """Move a row into the bin. Twice changes nothing. Raises BinRefused, or the refusal of its room."""
    word = kind_of(row)
    _lock(row)
    if row.deleted_at is not None:
        return
    bin_kinds()[word].hide(row)
    row.deleted_at, row.deleted_by = at, actor
    row.save(update_fields=["deleted_at", "deleted_by"])
    record(f"{word}.binned", actor=actor, at=at, subject=row, facts={"name": str(row)})


def find_deleted(word: str, pk: int) -> Row | None:
    kind = bin_kinds().get(word)
    found: Row | None = kind.model.everywhere.filter(deleted_at__isnull=False, pk=pk).first() if kind else None
    return found


@transaction.atomic
def restore(row: Row, *, actor: User, at: datetime) -> None:
    """Bring a row back, under another name where its own is taken by now. Twice changes nothing. Raises BinRefused."""
    word = kind_of(row)
    _lock(row)
    if row.deleted_at is None:
        return
    bin_kinds()[word].show(row)
    if not isinstance(row, Upload):
        _find_free_name(row)
    row.deleted_at = row.deleted_by = None
    row.save()
    record(f"{word}.restored", actor=actor, at=at, subject=row, facts={"name": str(row)})


def contents(person: User) -> list[Deleted]:
    """Everything in the bin that the person may restore, what was deleted last first."""
    rows = _rows() if _restores_all(person) else _rows_of(person)
    found = [Deleted(word, row, row.deleted_at + KEPT_FOR) for word, row in rows if row.deleted_at is not None]
    return sorted(found, key=lambda one: one.gone_at, reverse=True)


def opens(person: User) -> bool:
    """Whether the bin holds anything for this person; for coordinators and administrators it may be empty."""
    return _restores_all(person) or any(True for _row in _rows_of(person))


def may_restore(person: User, row: Row) -> bool:
    """Coordinators of the site and administrators everything; others what they deleted and still have a right to."""
    if _restores_all(person):
        return True
    rule = bin_kinds()[kind_of(row)].may
    return rule is not None and row.deleted_by_id == person.pk and rule(person, row)


def _restores_all(person: User) -> bool:
    return is_coordinator(person) or is_administrator(person)


def empty_bin(at: datetime) -> int:
    """The sweep: delete for good what has been in the bin for 30 days. Safe to run at any time; how many went."""
    n_gone = 0
    for kind in bin_kinds().values():
        for row in kind.model.everywhere.filter(deleted_at__lte=at - KEPT_FOR):
            n_gone += kind.purge(row, at)
    return n_gone


def note_purged(row: Row, *, at: datetime) -> None:
    """In the transaction that deletes the row: nobody did it now, somebody did 30 days ago."""
    facts = {"name": str(row), "deleted_by": row.deleted_by_id}
    record(f"{kind_of(row)}.deleted", actor=None, at=at, subject=row, facts=facts)


def _rows() -> Iterable[tuple[str, Row]]:
    for word, kind in bin_kinds().items():
        for row in kind.model.everywhere.filter(deleted_at__isnull=False).select_related("deleted_by"):
            yield word, row


def _rows_of(person: User) -> Iterable[tuple[str, Row]]:
    for word, kind in bin_kinds().items():
        theirs = kind.model.everywhere.filter(deleted_at__isnull=False, deleted_by=person).select_related("deleted_by")
        for row in theirs if kind.may else ():
            if may_restore(person, row):
                yield word, row


def _lock(row: Row) -> None:
    rows: models.QuerySet[Any] = type(row)._base_manager.select_for_update(of=("self",))
    row.refresh_from_db(from_queryset=rows)


def _find_free_name(row: Any) -> None:
    others = type(row).objects.all()
    stem, number = row.name, 1
    while others.filter(name=row.name).exists():
        number += 1
        row.name = f"{stem[:190]} ({number})"
    if others.filter(slug=row.slug).exists():
        row.slug = free_slug(row.name, among=type(row).everywhere.all(), otherwise=kind_of(row))


KEEP_WORK = timedelta(hours=12)  # of something that is being received, decoded or packed: nothing takes so long
KEEP_TO_TRY_AGAIN = timedelta(days=7)
BETWEEN_SWEEPS = timedelta(hours=1)
INGEST, QUESTIONS = "ingest_upload", ("check_questions", "store_questions")  # kinds of jobs
AT_ONCE = 200

_last: list[datetime] = []  # when this process swept last


def sweep_leftovers(at: datetime) -> int:
    """Once an hour; how much was removed."""
    if _last and at - _last[0] < BETWEEN_SWEEPS:
        return 0
    _last[:] = [at]
    return clear_leftovers(at)


def clear_leftovers(at: datetime) -> int:
    gone = [*_old_work(at), *_unsent_emails(at), *_question_files(at), *_files_without_a_job(at)]
    for path in gone:
        home_files.drop(path)
    home_files.forget_begun(at - KEEP_WORK)
    return len(gone) + forget_names_of_refused_files(at)


def forget_names_of_refused_files(at: datetime) -> int:
    """The report of an upload keeps what was wrong and how often; names of its files go. How many reports changed."""
    reports = Job.objects.filter(kind=INGEST, finished_at__lt=at - KEEP_TO_TRY_AGAIN, result__isnull=False)
    old = list(reports.exclude(result__has_key="names_removed").order_by("pk")[:AT_ONCE])
    for job in old:
        result: dict[str, Any] = job.result or {}
        for part in ("refused", "credits_refused"):
            if part in result:
                result[part] = [{**one, "file": f"file {n}"} for n, one in enumerate(result[part], start=1)]
        if "views" in result:  # words of the files themselves
            result["views"] = [{**one, "words": f"view {n}"} for n, one in enumerate(result["views"], start=1)]
        Job.objects.filter(pk=job.pk).update(result={**result, "names_removed": True})
    return len(old)


def _old_work(at: datetime) -> Iterator[Path]:
    for path, age in _aged(Path(settings.TEMP_ROOT), at):
        if age <= KEEP_WORK or path.name in ("letters", "demonstration"):
            continue
        if not path.name.startswith("upload-") or _is_over(path, age):
            yield path


def _is_over(folder: Path, age: timedelta) -> bool:
    """Whether nobody takes in the files of this upload any more: it is done, gone, or failed long ago."""
    upload = Upload.everywhere.select_related("job").filter(public_id=folder.name.removeprefix("upload-")).first()
    if upload is not None and upload.job is None and upload.asked:
        return False  # sent here, and to be taken in: the sender was told that nothing of it is lost
    if upload is None or upload.job is None or upload.job.state == JobState.SUCCEEDED:
        return True
    return not upload.job.is_unfinished and age > KEEP_TO_TRY_AGAIN


def _unsent_emails(at: datetime) -> Iterator[Path]:
    return (path for path, age in _aged(Path(settings.TEMP_ROOT) / "letters", at) if age > KEEP_TO_TRY_AGAIN)


def _question_files(at: datetime) -> Iterator[Path]:
    """Files of which no bank holds an import any more, or never did."""
    for path, age in _aged(Path(settings.HOME) / "question_files", at):
        if age <= KEEP_TO_TRY_AGAIN:
            continue
        jobs = Job.objects.filter(kind__in=QUESTIONS, params__upload=path.name)
        recent = jobs.filter(finished_at__gt=at - KEEP_TO_TRY_AGAIN)
        is_needed = jobs.unfinished().exists() or recent.exists()
        if not is_needed and not BankImport.objects.filter(job__in=jobs.values("pk")).exists():
            yield path


def _files_without_a_job(at: datetime) -> Iterator[Path]:
    """Predictions whose receiver was killed before their check was begun."""
    for folder, param in (("prediction_files", "upload"), ("submission_files", "submission")):
        for path, age in _aged(Path(settings.HOME) / folder, at):
            if age > KEEP_TO_TRY_AGAIN and not Job.objects.filter(**{f"params__{param}": path.name}).exists():
                yield path


def _aged(folder: Path, at: datetime) -> list[tuple[Path, timedelta]]:
    """What is in it, in this home and the bucket, and for how long neither that nor anything in it has changed."""
    found = home_files.children(folder)
    return [(folder / one.key, timedelta(seconds=at.timestamp() - one.changed_at)) for one in found]

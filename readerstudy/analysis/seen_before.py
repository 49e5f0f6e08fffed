"""Whether a result over the readings of a study was seen before, in another study: a copy gets round no plan.

Nothing is kept for it: readings are never deleted, and every study knows when a result of it was first seen. Readings
are told by what was answered to which wording, not by names: readers, models, studies and banks may be called anything,
come from any file, and be a part only. Rows whose answers or times were edited, or whose every wording was, are others.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db.models import Q
from msgspec import Struct, field

from annotation.models import AuditEvent
from readerstudy.enums import Block, ResponseState
from readerstudy.models import Enrolment, Prediction, PredictionRun, ReaderStudy, Response, StudyCase
from readerstudy.predictions.entries import REPLACED, WITHDRAWN

NEVER = datetime.max.replace(tzinfo=UTC)
FEWEST_SHARED = 20  # questions in one wording
SAME_ANSWERS, SAME_TIMES = 0.98, 0.9  # shares of those shared

Wording = tuple[str, Mapping[str, str]]  # of a question, and what each letter says


class AnswerRow(Struct):
    """What one reader, or one run of a model, answered; counted, since a wording may come more than once."""

    first_at: datetime  # when the first answer was stored
    answers: Counter[tuple[str, str]] = field(default_factory=Counter)  # by wording and the option, else how it ended
    times: Counter[tuple[str, int]] = field(default_factory=Counter)  # by wording, ms

    @property
    def wordings(self) -> Counter[str]:
        return _by_wording(self.answers)

    def is_same_as(self, other: AnswerRow, *, least: float = SAME_ANSWERS) -> bool:
        shared = (self.wordings & other.wordings).total()
        if shared < FEWEST_SHARED or (self.answers & other.answers).total() < least * shared:
            return False
        timed = (_by_wording(self.times) & _by_wording(other.times)).total()
        return (self.times & other.times).total() >= SAME_TIMES * timed


class Came(Struct, frozen=True):
    """A rater of this study: the name, and when the plan was frozen and the answers were there."""

    name: str
    at: datetime


class SeenElsewhere(Struct, frozen=True):
    """Raters of this study whose answers another study holds, a result of which was seen."""

    study: str
    at: datetime
    names: Sequence[str]
    is_before: bool  # before something of this study came or was chosen: whoever did so knew what would favour whom

    def as_json(self) -> dict[str, Any]:
        return {"study": self.study, "on": self.at.date().isoformat(), "names": list(self.names)}


def seen_elsewhere(
    study: ReaderStudy, readers: Mapping[int, Came], runs: Mapping[int, Came]
) -> tuple[list[SeenElsewhere], list[SeenElsewhere]]:
    """Of the ``readers`` (by enrolment) and of the ``runs`` of models, in the order in which results were seen.

    One query where no other study was seen; else one for the wordings of each, two for those that share enough, and
    three more where readings were seen.
    """
    seen = ReaderStudy.everywhere.filter(unblinded_at__isnull=False).exclude(pk=study.pk)
    found: tuple[list[SeenElsewhere], list[SeenElsewhere]] = ([], [])
    own, wordings = list[dict[int, AnswerRow]](), dict[int, Wording]()
    for other in seen.order_by("unblinded_at").only("name", "unblinded_at"):
        wordings = wordings or _wordings(study.pk)
        theirs = _wordings(other.pk)
        shared = {name for name, _texts in wordings.values()}.intersection(name for name, _texts in theirs.values())
        if not shared:
            continue
        own = own or [_readings(study.pk, wordings), _predictions(study.pk, wordings)]
        rows = _readings(other.pk, theirs), _predictions(other.pk, theirs)
        assert other.unblinded_at is not None
        for place, (came, least) in enumerate(((readers, SAME_ANSWERS), (runs, 1.0))):
            same = [
                (one, max(other.unblinded_at, row.first_at))
                for pk, one in came.items()
                for row in rows[place].values()
                if pk in own[place] and own[place][pk].is_same_as(row, least=least)
            ]
            if same:
                at = min(at for _one, at in same)
                names_there = sorted({one.name for one, _at in same})
                is_before = any(at < one.at for one, _at in same)
                if came is readers:
                    is_before = any(at < one.at for one in came.values()) or _is_chosen_since(study, at)
                found[place].append(SeenElsewhere(other.name, at, names_there, is_before))
    return found


def _is_chosen_since(study: ReaderStudy, at: datetime) -> bool:
    """Whether a reader or a run came, left or was named after ``at``, before results of this study itself were seen.

    What comes after these is late by itself, and changes nothing that was planned.
    """
    until = study.unblinded_at or NEVER

    def since(*moments: str) -> Q:
        return Q.create([Q(**{f"{one}__gt": at, f"{one}__lte": until}) for one in moments], connector=Q.OR)

    runs = PredictionRun.objects.filter(study=study)
    entries = AuditEvent.objects.filter(since("at"), subject_type="modelentry", act__in=[REPLACED, WITHDRAWN])
    readers = Enrolment.objects.filter(study=study, readings__responses__isnull=False)
    return (
        runs.filter(since("imported_at", "named_at", "withdrawn_at", "entry__renamed_at")).exists()
        or entries.filter(subject_id__in=runs.values("entry__public_id")).exists()
        or readers.filter(since("enrolled_at", "withdrawn_at", "replaced_at")).exists()
    )


def _by_wording(counted: Counter[tuple[str, Any]]) -> Counter[str]:
    found = Counter[str]()
    for (wording, _what), n in counted.items():
        found[wording] += n
    return found


def _wordings(study: int) -> dict[int, Wording]:
    """Of the main block, by revision: a hash of stem and options, whatever their order and letters."""
    rows = StudyCase.objects.filter(study=study, block=Block.MAIN).order_by()
    found: dict[int, Wording] = {}
    for revision, stem, options in rows.values_list("revision_id", "revision__stem", "revision__options"):
        texts = list(map(_spoken, options))
        spoken = "\0".join([_spoken(stem), *sorted(texts)])
        name = hashlib.blake2b(spoken.encode(), digest_size=12).hexdigest()
        found[revision] = name, dict(zip("ABCD", texts, strict=False))
    return found


def _spoken(text: str) -> str:
    """Without capitals, forms of letters and of spaces, and signs that nobody sees."""
    if not text.isascii():
        kept = (one for one in unicodedata.normalize("NFKC", text) if unicodedata.category(one) != "Cf")
        text = "".join(kept)
    return " ".join(text.split()).casefold()


def _readings(study: int, wordings: Mapping[int, Wording]) -> dict[int, AnswerRow]:
    """By enrolment. A confirmed answer takes the place of one that the limit closed."""
    found = Response.objects.filter(reading__enrolment__study=study, reading__case__block=Block.MAIN)
    of = ("reading__enrolment_id", "reading_id", "reading__case__revision_id")
    answered = found.exclude(state=ResponseState.MISSING).order_by("is_confirmed", "pk")
    rows = answered.values_list(*of, "option", "state", "active_ms", "stored_at")
    final = {one[1]: one for one in rows.iterator(chunk_size=5000)}
    return _rows(wordings, ((one[0], *one[2:]) for one in final.values()))


def _predictions(study: int, wordings: Mapping[int, Wording]) -> dict[int, AnswerRow]:
    found = Prediction.objects.filter(run__study=study).order_by()
    rows = found.values_list("run_id", "revision_id", "option", "state", "run__imported_at").iterator()
    return _rows(wordings, ((run, revision, option, state, None, at) for run, revision, option, state, at in rows))


def _rows(
    wordings: Mapping[int, Wording], answers: Iterable[tuple[int, int, str, str, int | None, datetime]]
) -> dict[int, AnswerRow]:
    found: dict[int, AnswerRow] = {}
    for who, revision, option, state, active_ms, at in answers:
        if revision not in wordings:
            continue
        row = found.setdefault(who, AnswerRow(at))
        wording, texts = wordings[revision]
        row.first_at = min(row.first_at, at)
        row.answers[wording, texts.get(option, option or state)] += 1
        if active_ms is not None:
            row.times[wording, active_ms] += 1
    return found

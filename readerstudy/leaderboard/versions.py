"""What changed in the bank since the newest version of a benchmark, the next version, and notes that everybody reads.

A question that was withdrawn leaves. Another key keeps the name of its question, so that stored answers count on it;
another wording gets a new name, and nobody has answered it yet. Nothing that was published is edited.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from annotation.audit.recording import record
from annotation.enums import QuestionState, Word
from annotation.models import AnswerKey, Revision, User
from annotation.models.fields import public_id
from readerstudy.enums import BenchmarkState
from readerstudy.leaderboard.access import MOST_REASON, LeaderboardRefused, one_line
from readerstudy.leaderboard.benchmarks import current_version, make_version
from readerstudy.models import Benchmark, BenchmarkQuestion, BenchmarkVersion, BoardNote, Submission


class Changed(Word):
    """What became of a question. The value is what everybody reads: it tells no key."""

    VOIDED = "voided", gettext_lazy("voided")
    WORDING = "another wording", gettext_lazy("another wording")
    KEY = "key corrected", gettext_lazy("key corrected")
    GROUP = "counted in another group", gettext_lazy("counted in another group")


class ChangedQuestion(Struct, frozen=True):
    name: str  # in the version before
    number: int  # in the bank
    what: Changed
    revision: int | None = None  # its wording or key of now; None: it leaves


def changes_since(version: BenchmarkVersion) -> list[ChangedQuestion]:
    """In the order of the version. A few queries, whatever its size."""
    current = Revision.objects.current().filter(question__in=version.questions.values("revision__question"))
    newer = {one.question_id: one for one in current.exclude(pk__in=version.questions.values("revision"))}
    touched = Q(revision__question__in=newer) | Q(revision__question__state=QuestionState.WITHDRAWN)
    rows = list(version.questions.filter(touched).select_related("revision__question").order_by("place"))
    wordings = [*(one.revision_id for one in rows), *(one.pk for one in newer.values())]
    keys = dict(AnswerKey.objects.filter(pk__in=wordings).values_list("pk", "key"))
    found = []
    for row in rows:
        now = newer.get(row.revision.question_id)
        what = _change(row, now, keys)
        if what is not None:
            pk = None if now is None or what == Changed.VOIDED else now.pk
            found.append(ChangedQuestion(row.name, row.revision.question.number, what, pk))
    return found


def _change(row: BenchmarkQuestion, now: Revision | None, keys: dict[int, str]) -> Changed | None:
    """None where it is asked and keyed as it was, as with another explanation."""
    if row.revision.question.state == QuestionState.WITHDRAWN:
        return Changed.VOIDED
    if now is None:
        return None
    then = row.revision
    if (then.stem, then.options, then.left_out) != (now.stem, now.options, now.left_out):
        return Changed.WORDING
    if keys.get(then.pk) != keys.get(now.pk):
        return Changed.KEY
    before, after = ((one.task, one.category, one.difficulty) for one in (then, now))
    return Changed.GROUP if before != after else None


@transaction.atomic
def make_new_version(benchmark: Benchmark, reason: str, *, actor: User, at: datetime) -> BenchmarkVersion:
    """The next version, with what changed since the newest one. Refused for a draft, and where nothing changed."""
    benchmark = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
    if benchmark.state == BenchmarkState.DRAFT:
        raise LeaderboardRefused("draft", _("A draft has no versions: freeze it first."))
    reason = one_line(reason, MOST_REASON, "reason", _("Say why there is a new version: everybody reads it"))
    version = current_version(benchmark)
    changed = {one.name: one for one in changes_since(version)}
    if not changed:
        sentence = _("No question of version %(n)s was withdrawn or corrected: there is nothing to change.")
        raise LeaderboardRefused("nothing_changed", sentence % {"n": version.number})
    told = {one.name: {"question": one.name, "what": str(one.what), "why": reason} for one in changed.values()}
    questions: list[tuple[str, int]] = []
    for name, revision in version.questions.order_by("place").values_list("name", "revision_id"):
        one = changed.get(name)
        if one is None:
            questions.append((name, revision))
        elif one.revision is not None:
            now = public_id() if one.what == Changed.WORDING else name
            questions.append((now, one.revision))
            told[name] |= {"becomes": now} if now != name else {}
    return make_version(benchmark, questions, changes=[told[name] for name in changed], actor=actor, at=at)


@transaction.atomic
def add_note(benchmark: Benchmark, text: str, entry: str = "", *, actor: User, at: datetime) -> BoardNote:
    """A dispute or a correction, read by everybody once the board is published again. ``entry``: id of a submission."""
    text = one_line(text, MOST_REASON, "text", _("Write what everybody should read"))
    submission = None
    if entry:
        published = Submission.objects.filter(team__benchmark=benchmark, numbers__isnull=False)
        submission = published.filter(public_id=entry).first()
        if submission is None:
            sentence = _("No entry on the board of “%(name)s” has the id %(id)s.")
            raise LeaderboardRefused("no_entry", sentence % {"name": benchmark.name, "id": entry}, field="entry")
    made = BoardNote.objects.create(benchmark=benchmark, submission=submission, text=text, made_by=actor, made_at=at)
    facts = {"note": made.pk, **({"submission": entry} if entry else {})}
    record("leaderboard.noted", actor=actor, at=at, subject=benchmark, facts=facts)
    return made

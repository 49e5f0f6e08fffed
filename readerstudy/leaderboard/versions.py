"""What changed in the bank since the newest version of a benchmark, the next version, and notes that everybody reads;
and what teams take away of a version: its questions with their images, as one ZIP file that a job writes.

A question that was withdrawn leaves. Another key keeps the name of its question, so that stored answers count on it;
another wording gets a new name, and nobody has answered it yet. Nothing that was published is edited.

Nothing in the file depends on a key: questions stand in the order of the version under its names, images under names of
their own. It is kept until the version changes or an image is withheld, can be written again, and is in no backup.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from annotation.audit.recording import record
from annotation.enums import ImageState, QuestionState, RenditionKind, Word
from annotation.imaging.kernels.picture_policies import QUARTER
from annotation.ingest import storage
from annotation.ingest.serving import policy_for
from annotation.jobs.queueing import Progress, Result, job_under_way
from annotation.models import AnswerKey, Exam, Image, Job, QuestionBank, Rendition, Revision, User
from annotation.models.fields import public_id
from annotation.questionbank.kernels.fields import join_options
from annotation.site import home_files
from annotation.tables.writing import whole_file
from readerstudy.design.kernels.documents import sha256_of
from readerstudy.enums import BenchmarkState
from readerstudy.leaderboard.access import MOST_REASON, LeaderboardRefused, check_is_frozen, one_line
from readerstudy.leaderboard.benchmarks import (
    PACK,
    AskedWording,
    PackingParams,
    asked_of,
    current_version,
    enqueue_packing,
    make_version,
)
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


FORMAT = "leaderboard-inputs 1"
AT_ONCE = 500
README = """\
# {name}, version {version}

{n} multiple-choice questions on chest radiographs. `questions.json` holds, by the name of each question and in the
order of the leaderboard, its text, four options and the paths of its images; `prior_images`, where there are any, are
of an earlier exam of the same patient. Images are 8-bit PNG at a quarter of width and height, as models of this site
get them; questions on one exam share them. `manifest.json` holds the SHA-256 of each file.

Answer each question with the letter of an option, and send your answers under these names, for example as lines of

    {{"id": "the name of the question", "pred_answer": "B"}}

Nothing here tells which option is right, nor the task, category or difficulty of a question. Do not hand these files
on.
"""


def ask_to_pack(benchmark: Benchmark, *, actor: User, at: datetime) -> Job:
    """One that waits or runs already is enough. Raises LeaderboardRefused unless it is frozen."""
    check_is_frozen(benchmark)
    under_way = job_under_way(PACK, benchmark=benchmark.pk)
    return under_way or enqueue_packing(current_version(benchmark), actor=actor, at=at)


def pack_inputs(progress: Progress, params: PackingParams) -> Result:
    """The handler. Memory holds one image; run twice it writes the same bytes."""
    version = BenchmarkVersion.objects.select_related("benchmark__bank").get(pk=params["version"])
    path = _path(version)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with whole_file(path) as file:
        n_images = write_inputs(version, file, progress)
    n_bytes = path.stat().st_size
    home_files.hand_over(path)
    home_files.drop_others(path, "*.zip")
    return {"page": reverse("leaderboard", args=[version.benchmark.slug]), "images": n_images, "bytes": n_bytes}


def packed_inputs(benchmark: Benchmark) -> Path | None:
    """None while it is not written for the newest version, and where an image was withheld since it was."""
    path = _path(current_version(benchmark))
    return path if home_files.is_there(path) else None


@transaction.atomic
def take_inputs(benchmark: Benchmark, *, actor: User, at: datetime) -> Path:
    """For somebody who takes them, which is noted, and reads them ``here``. Raises LeaderboardRefused."""
    check_is_frozen(benchmark)
    found = packed_inputs(benchmark)
    if found is None:
        sentence = _("The file is not written yet, or an image changed since: have it written, and come back.")
        raise LeaderboardRefused("not_packed", sentence)
    record("benchmark.inputs_taken", actor=actor, at=at, subject=benchmark, facts={"file": found.stem})
    return found


# --- the file -------------------------------------------------------------------------------------
def write_inputs(version: BenchmarkVersion, to: IO[bytes], progress: Progress | None = None) -> int:
    """How many images. The same bytes every time, whatever keys, explanations, reports, tasks or categories are."""
    sums: dict[str, str] = {}
    with zipfile.ZipFile(to, "w") as archive:

        def add(name: str, content: bytes, how: int = zipfile.ZIP_DEFLATED) -> None:
            archive.writestr(zipfile.ZipInfo(name), content, how)
            sums[name] = hashlib.sha256(content).hexdigest()

        asked, about = _questions(version), version.benchmark
        names = _names_of_images(version, [one for _name, one in asked])
        add("README.md", README.format(name=about.name, version=version.number, n=f"{len(asked):,}").encode())
        add("questions.json", _as_json({name: _shown(one, names) for name, one in asked}))
        for done, (image, content) in enumerate(_pictures(about.bank, list(names)), 1):
            add(names[image], content, zipfile.ZIP_STORED)  # PNG is compressed
            if progress:
                progress.report(done, len(names))
        manifest = {"format": FORMAT, "benchmark": about.name, "version": version.number, "n": len(asked)}
        archive.writestr(zipfile.ZipInfo("manifest.json"), _as_json({**manifest, "sha256": sums}), zipfile.ZIP_DEFLATED)
    return len(names)


def _questions(version: BenchmarkVersion) -> list[tuple[str, AskedWording]]:
    rows = list(version.questions.values_list("name", "revision"))
    asked = asked_of(version.benchmark.bank, [revision for _name, revision in rows])
    return [(name, asked[revision]) for name, revision in rows]


def _names_of_images(version: BenchmarkVersion, asked: list[AskedWording]) -> dict[int, str]:
    """The path of each image by its row, as they first come; the same in all versions of this benchmark alone."""
    salt = version.benchmark.versions.order_by("number").values_list("keys_salt", flat=True)[0]
    images = {image.pk: image for one in asked for image in (*one.images, *one.priors)}
    return {pk: f"images/{sha256_of(f'{salt} image {image.public_id}')[:16]}.png" for pk, image in images.items()}


def _shown(one: AskedWording, names: dict[int, str]) -> dict[str, Any]:
    def paths(images: list[Image]) -> list[str]:
        return [names[image.pk] for image in images]

    shown = {"question": one.stem, "options": join_options(one.options, ". "), "images": paths(one.images)}
    return {**shown, "prior_images": paths(one.priors)} if one.priors else shown


def _pictures(bank: QuestionBank, images: list[int]) -> Iterator[tuple[int, bytes]]:
    """Of these images, in their order, as models get them."""
    from annotation.imaging.kernels.picture_policies import picture_of
    from annotation.imaging.kernels.rendering import payload_of  # loads Pillow: not at every start

    policy, ids = policy_for(bank, QUARTER), iter(images)
    while chunk := list(islice(ids, AT_ONCE)):
        rows = Rendition.objects.filter(image__in=chunk, kind=RenditionKind.FULL).select_related("image")
        found = {one.image_id: one for one in rows}
        for pk in chunk:
            one = found[pk]
            payload = payload_of(storage.load(one.name), one.width, one.height)
            yield pk, picture_of(payload, one.image.display or {}, policy)[0]


def _as_json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def _path(version: BenchmarkVersion) -> Path:
    """Named by its images: where one is withheld, or its pixels change, it is another file."""
    exams = Exam.objects.filter(questions__revisions__in=version.questions.values("revision"))
    shown = Q(image__exam__in=exams.values("pk")) | Q(image__exam__in=exams.values("prior"))
    full = Rendition.objects.filter(shown, kind=RenditionKind.FULL, image__state=ImageState.AVAILABLE)
    digest = sha256_of(" ".join(full.order_by("pk").values_list("name", flat=True)))
    return Path(settings.HOME) / "leaderboards" / str(version.benchmark_id) / f"{version.number}-{digest[:32]}.zip"

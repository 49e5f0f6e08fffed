"""What teams take away: the questions of a benchmark with their images, as one ZIP file that a job writes.

Nothing in it depends on a key: questions stand in the order of the version under its names, images under names of
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

from annotation.audit.recording import record
from annotation.enums import ImageState, RenditionKind
from annotation.exports.tables import whole_file
from annotation.imaging.kernels.picture_policies import QUARTER
from annotation.ingest import storage
from annotation.ingest.serving import policy_for
from annotation.jobs.handlers import Progress, Result
from annotation.jobs.queueing import job_under_way
from annotation.models import Exam, Image, Job, QuestionBank, Rendition, User
from annotation.questionbank.kernels.fields import join_options
from annotation.site import home_files
from readerstudy.design.kernels.documents import sha256_of
from readerstudy.leaderboard.access import LeaderboardRefused, check_is_frozen
from readerstudy.leaderboard.benchmarks import (
    PACK,
    AskedWording,
    PackingParams,
    asked_of,
    current_version,
    enqueue_packing,
)
from readerstudy.models import Benchmark, BenchmarkVersion

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

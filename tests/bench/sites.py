"""Fills the site of REXVQA_HOME with radiographs at full size, and prints how to get in: sessions, and what they open.

A process of its own, because the site that is measured has the shipped settings.
``python -m tests.bench.sites review 40`` makes a round of 40 questions, ``... study_load 200 40`` a study with 200
readers, each with 40 cases in an order of their own.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

import django

from tests.ways_in import session_of, sessions_of_readers


def review(n_questions: int) -> dict[str, Any]:
    """The session of the reviewer, the round and the first case."""
    from annotation.models import User
    from tests.annotation.review.cases import assignments_of, make_round

    reviewer = User.objects.create_user("reviewer@example.org", "correct horse battery", name="Reviewer")
    review_round = make_round(reviewer, n_questions=n_questions, name="Bench")
    give_radiographs()
    first = assignments_of(reviewer, review_round)[0]
    return {"session": session_of(reviewer), "round": review_round.slug, "case": first.public_id}


def reading(n_cases: int) -> dict[str, Any]:
    """The session of the reader and the study."""
    from tests.readerstudy.studies import make_study

    study = make_study("Bench", n_cases=n_cases, n_orders=1, simulated=True, give_images=give_radiographs)
    return {"session": sessions_of_readers(study, 1)[0], "study": study.slug}


def load(n_readers: int, n_questions: int) -> dict[str, Any]:
    """A session and an order of cases for each reader, and the address of one image at full depth."""
    from django.urls import reverse

    from annotation.enums import RenditionKind
    from annotation.models import Rendition, User
    from tests.annotation.review.cases import assignments_of, make_round

    readers = [User.objects.create_user(f"reader{n}@example.org", None, name=f"Reader {n}") for n in range(n_readers)]
    review_round = make_round(*readers, n_questions=n_questions, name="Load")
    give_radiographs()
    ways_in = []
    for reader in readers:
        cases = [
            {"id": one.public_id, "images": [image.public_id for image in one.revision.question.exam.images.all()]}
            for one in assignments_of(reader, review_round)
        ]
        ways_in.append({"session": session_of(reader), "cases": cases})
    full = Rendition.objects.filter(kind=RenditionKind.FULL).order_by("pk")[0]
    return {"readers": ways_in, "image": reverse("rendition", args=[full.name])}


def study_load(n_readers: int, n_cases: int) -> dict[str, Any]:
    """A session for each reader, and a token for a program beside them."""
    from tests.bench.api_requests import bank_token
    from tests.readerstudy.studies import make_study

    study = make_study("Load", n_cases=n_cases, n_orders=n_readers, give_images=give_radiographs)
    token, sessions = bank_token(study.bank), sessions_of_readers(study, n_readers)
    return {"study": study.slug, "bank": study.bank.slug, "token": token, "sessions": sessions}


def previews() -> dict[str, bytes]:
    """The same two pictures as they are sent first: WebP, 8 bits."""
    from annotation.enums import RenditionKind

    return {name: made_radiograph(seed)[1][RenditionKind.PREVIEW][0] for name, seed in (("frontal", 1), ("lateral", 2))}


def give_radiographs() -> None:
    """Two pictures of 2048x2500 and 12 bits for every exam; each image has files of its own, linked, not copied."""
    from django.conf import settings

    from annotation.enums import ImageState
    from annotation.ingest import storage
    from annotation.models import Image, Rendition
    from tests.annotation.review.cases import NOON

    made = [made_radiograph(seed) for seed in (1, 2)]
    stored = [{kind: storage.store(content) for kind, (content, *_size) in one[1].items()} for one in made]
    images = list(Image.objects.all())
    renditions = []
    for image in images:
        display, sizes = made[image.position]
        image.display, image.state = display, ImageState.AVAILABLE
        for kind, (content, width, height, bits) in sizes.items():
            row = Rendition(image=image, kind=kind, width=width, height=height, bits=bits, n_bytes=len(content))
            row.sha256, row.created_at = hashlib.sha256(content).hexdigest(), NOON
            place = settings.MEDIA_ROOT / storage.key_of(row.name)
            place.parent.mkdir(parents=True, exist_ok=True)
            os.link(settings.MEDIA_ROOT / storage.key_of(stored[image.position][kind]), place)
            renditions.append(row)
    Rendition.objects.bulk_create(renditions)
    Image.objects.bulk_update(images, ["display", "state"])


def made_radiograph(seed: int) -> tuple[dict[str, Any], dict[str, tuple[bytes, int, int, int]]]:
    """How the viewer must show it, and its preview and full depth with width, height and bits."""
    import io

    from PIL import Image as Picture

    from annotation.enums import RenditionKind
    from annotation.imaging.kernels.image_files import read_image
    from annotation.imaging.kernels.rendering import as_8bit, full_depth, prepare, preview
    from tests.bench.viewer import radiograph

    png = io.BytesIO()
    Picture.fromarray(radiograph(seed) << 4).save(png, "PNG", compress_level=1)
    payload, display = prepare(read_image(png.getvalue()))
    small, width, height = preview(as_8bit(payload, display))
    return display.as_json(), {
        RenditionKind.PREVIEW: (small, width, height, 8),
        RenditionKind.FULL: (full_depth(payload), display.width, display.height, display.bits),
    }


if __name__ == "__main__":
    django.setup()
    ways: dict[str, Callable[..., dict[str, Any]]] = {
        "review": review,
        "reading": reading,
        "load": load,
        "study_load": study_load,
    }
    print(json.dumps(ways[sys.argv[1]](*map(int, sys.argv[2:]))))

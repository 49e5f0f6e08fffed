"""Fills the site of REXVQA_HOME with a round of radiographs at full size, and prints how to get in: a session key.

A process of its own, because the site that is measured has the shipped settings.
``python -m tests.bench.review_site 40`` makes 40 questions.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from typing import Any

import django

from tests.processes import ROOT, environment, manage

BACKEND = "annotation.people.second_factors.PersonBackend"


def make_site(home: Path, n_questions: int, database_url: str = "") -> dict[str, Any]:
    """A new site in ``home`` with a round of so many questions; the session, the round and the first case."""
    env = environment(home, database_url, DJANGO_SETTINGS_MODULE="rexvqa_site.settings")
    manage("migrate", "--verbosity", "0", env=env).check_returncode()
    command = [sys.executable, "-m", "tests.bench.review_site", str(n_questions)]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=True)
    way_in: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return way_in
from tests.ways_in import session_of


def main(n_questions: int) -> None:
    django.setup()
    from annotation.models import User
    from tests.annotation.review.cases import assignments_of, make_round

    reviewer = User.objects.create_user("reviewer@example.org", "correct horse battery", name="Reviewer")
    review_round = make_round(reviewer, n_questions=n_questions, name="Bench")
    give_radiographs()
    first = assignments_of(reviewer, review_round)[0]
    print(json.dumps({"session": session_of(reviewer), "round": review_round.slug, "case": first.public_id}))


def previews() -> dict[str, bytes]:
    """The same two pictures as they are sent first: WebP, 8 bits."""
    from annotation.enums import RenditionKind

    return {name: made_radiograph(seed)[1][RenditionKind.PREVIEW][0] for name, seed in (("frontal", 1), ("lateral", 2))}


def give_radiographs() -> None:
    """Two pictures of 2048x2500 and 12 bits for every exam; each image has files of its own, linked, not copied."""
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
            place = storage.path_of(row.name)
            place.parent.mkdir(parents=True, exist_ok=True)
            os.link(storage.path_of(stored[image.position][kind]), place)
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
    main(int(sys.argv[1]))

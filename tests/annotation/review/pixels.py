"""Pictures for the images of a case: small, stored, and available to its reviewers."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
from PIL import Image as Picture

from annotation.enums import ImageState, RenditionKind
from annotation.imaging.kernels.image_files import read_image
from annotation.imaging.kernels.rendering import as_8bit, full_depth, prepare, preview
from annotation.ingest import storage
from annotation.models import Image, Rendition
from tests.annotation.review.cases import NOON


@dataclass(frozen=True)
class Pictured:
    """What the import would store of one picture: kind, content, width, height and bits of each rendition."""

    renditions: tuple[tuple[RenditionKind, bytes, int, int, int], ...]
    display: str  # JSON
    sha256: str  # of the greys


@cache
def pictured(seed: int, shape: tuple[int, int]) -> Pictured:
    """Noise that this seed makes, (height, width), through the kernels of the import; each picture is made once."""
    greys = np.random.default_rng(seed).integers(100, 256, shape, dtype=np.uint8)
    png = io.BytesIO()
    Picture.fromarray(greys).save(png, "PNG")
    payload, display = prepare(read_image(png.getvalue()))
    small, width, height = preview(as_8bit(payload, display))
    full = full_depth(payload)
    return Pictured(
        renditions=(
            (RenditionKind.PREVIEW, small, width, height, 8),
            (RenditionKind.FULL, full, display.width, display.height, display.bits),
        ),
        display=json.dumps(display.as_json()),
        sha256=hashlib.sha256(greys.tobytes()).hexdigest(),
    )


def give_pixels(image: Image, seed: int, shape: tuple[int, int] = (96, 80)) -> None:
    """A picture of its own for an image, small unless ``shape`` says otherwise: stored, and open to its reviewers."""
    give_pixels_to([(image, seed)], shape)


def give_pixels_to(images: Iterable[tuple[Image, int]], shape: tuple[int, int] = (96, 80)) -> None:
    """Each image with the seed of its picture."""
    seeded = list(images)
    Rendition.objects.bulk_create(
        Rendition(
            image=image,
            kind=kind,
            name=storage.store(content),
            width=columns,
            height=rows,
            bits=bits,
            n_bytes=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
            created_at=NOON,
        )
        for image, seed in seeded
        for kind, content, columns, rows, bits in pictured(seed, shape).renditions
    )
    for image, seed in seeded:
        picture = pictured(seed, shape)
        image.pixels_sha256 = picture.sha256
        image.display = json.loads(picture.display)
        image.state = ImageState.AVAILABLE
    Image.objects.bulk_update([image for image, _seed in seeded], ["pixels_sha256", "display", "state"])

"""Damaged files by the thousand, the same ones each time: each comes in or is refused for a reason, no decoder dies."""

from __future__ import annotations

import io
import os
import random
from pathlib import Path

import imagecodecs
import numpy as np
import pytest
from PIL import Image as Picture
from pydicom.uid import (
    DeflatedExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
    JPEG2000Lossless,
    JPEGBaseline8Bit,
    JPEGLosslessSV1,
    JPEGLSLossless,
)

from annotation.imaging.kernels.codestreams import ImageRefused
from annotation.ingest.sandbox import Decoder
from tests.annotation.imaging.dicomfiles import as_bytes, chest, make_compressed, make_data_set

pytestmark = pytest.mark.check

N_MUTATIONS = int(os.environ.get("MUTATIONS", "1000"))
HEAD = 1_200  # bytes; half of the changes are made here, where sizes and kinds stand
LENGTHS = (1, 2, 4, 8, 64)


def seeds() -> list[bytes]:
    """A small good file of each kind that is taken."""
    deep, flat = chest(), chest(top=255).astype(np.uint8)
    return [
        *(as_bytes(make_data_set(deep), syntax) for syntax in (ImplicitVRLittleEndian, DeflatedExplicitVRLittleEndian)),
        make_compressed(bytes(imagecodecs.ljpeg_encode(deep, bitspersample=12)), JPEGLosslessSV1, deep),
        make_compressed(bytes(imagecodecs.jpegls_encode(deep)), JPEGLSLossless, deep),
        make_compressed(
            bytes(imagecodecs.jpeg2k_encode(deep, codecformat="j2k", reversible=True)), JPEG2000Lossless, deep
        ),
        make_compressed(bytes(imagecodecs.jpeg8_encode(flat)), JPEGBaseline8Bit, flat, bits=8),
        *(picture(flat, kind) for kind in ("PNG", "JPEG")),
        picture(deep, "PNG"),
    ]


def picture(pixels: np.ndarray, kind: str) -> bytes:
    stream = io.BytesIO()
    Picture.fromarray(pixels).save(stream, kind)
    return stream.getvalue()


def mutated(data: bytes, source: random.Random) -> bytes:
    """The file with 1 to 16 changes: a bit, or bytes made random or all the same, are left out or stand twice."""
    changed = bytearray(data)
    for _ in range(source.choice((1, 1, 2, 4, 16))):
        place = source.randrange(min(len(changed), source.choice((HEAD, len(changed)))))
        length = source.choice(LENGTHS)
        match source.randrange(5):
            case 0:
                changed[place] ^= 1 << source.randrange(8)
            case 1:
                changed[place : place + length] = source.randbytes(length)
            case 2:
                del changed[place : place + length]
            case 3:
                changed[place:place] = changed[place : place + length]
            case _:
                changed[place : place + length] = source.choice((b"\xff", b"\0")) * length
    return bytes(changed)


def test_no_damaged_file_ends_the_decoder(tmp_path: Path) -> None:
    good, source = seeds(), random.Random(20_240_601)
    with Decoder(tmp_path) as decoder:
        for seed in good:
            decoder.decode(seed)
        refused = [why(decoder, mutated(good[n % len(good)], source)) for n in range(N_MUTATIONS)]
    assert not {"decoder_died", "timeout"} & set(refused)
    assert {"", "malformed", "truncated"} <= set(refused)


def why(decoder: Decoder, data: bytes) -> str:
    """The code of the refusal, or nothing for a file that comes in."""
    try:
        decoder.decode(data)
    except ImageRefused as refusal:
        return refusal.code
    return ""

"""PNG and JPEG files."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from annotation.imaging.kernels.codestreams import ImageRefused
from annotation.imaging.kernels.image_files import exif_orientation, read_jpeg, read_png, turn
from tests.annotation.imaging.dicomfiles import chest
from tests.refusals import refuses

GREY = (chest(90, 70, top=255)).astype(np.uint8)


def save(picture: Image.Image, form: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    picture.save(stream, form, **options)
    return stream.getvalue()


def png(**options: Any) -> bytes:
    return save(Image.fromarray(GREY), "PNG", **options)


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def test_8_and_16_bit_grey_come_as_they_are() -> None:
    deep = chest(90, 70, top=65535)
    assert np.array_equal(read_png(png())[0], GREY)
    assert np.array_equal(read_png(save(Image.fromarray(deep), "PNG"))[0], deep)


def test_an_interlaced_png_is_read() -> None:
    header = b"IHDR" + struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 1)
    one_pixel = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header[4:]) + chunk(b"IDAT", zlib.compress(b"\0\x7f"))
    assert read_png(one_pixel + chunk(b"IEND", b""))[0].tolist() == [[127]]


def test_grey_in_colours_is_grey_without_a_warning_and_colour_warns() -> None:
    grey, warnings = read_png(save(Image.fromarray(GREY).convert("RGB"), "PNG"))
    assert np.array_equal(grey, GREY)
    assert warnings == []
    assert read_png(save(Image.new("RGB", (9, 9), (250, 10, 10)), "PNG"))[1] == ["colour"]


def test_16_bit_interlaced_rows_are_counted_by_pass() -> None:
    rows, columns = 11, 13
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    deep = chest(rows, columns, top=65535)
    parts = [deep[y::down, x::across] for y, x, down, across in passes]
    body = b"".join(b"\0" + row.astype(">u2").tobytes() for part in parts if part.size for row in part)
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 16, 0, 0, 0, 1))
    data = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b"")
    assert np.array_equal(read_png(data)[0], deep)


def test_transparency_and_the_colours_of_print_are_refused() -> None:
    with refuses(ImageRefused, "transparent"):
        read_png(save(Image.new("RGBA", (9, 9), (1, 1, 1, 100)), "PNG"))
    with refuses(ImageRefused, "colour_space"):
        read_jpeg(save(Image.new("CMYK", (16, 16)), "JPEG"))


def test_text_and_trailing_bytes_never_reach_the_decoder_and_a_bomb_of_text_costs_nothing() -> None:
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Patient", "Sally Secret" * 1000, zip=True)
    assert np.array_equal(read_png(png(pnginfo=notes) + b"<script>")[0], GREY)
    data = png()
    bomb = chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(50_000_000), 9))
    assert np.array_equal(read_png(data[:33] + bomb + data[33:])[0], GREY)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda d: d[:60], "truncated"),
        (lambda d: d[:-12], "truncated"),
        (lambda d: d[:20] + b"\xff" + d[21:], "size"),
        (lambda d: d[:29] + b"\0\0\0\0" + d[33:], "malformed"),
        (lambda d: d[:24] + b"\3" + d[25:], "malformed"),
        (lambda d: d[:16] + bytes(4) + d[20:], "size"),
        (lambda d: d[:33] + chunk(b"XBAD", b"") + d[33:], "malformed"),
        (lambda d: d[:33] + d[-12:], "malformed"),
        (lambda d: d[:33] + chunk(b"IDAT", zlib.compress(bytes(71 * 5))) + d[-12:], "truncated"),
        (lambda d: d[:33] + chunk(b"IDAT", zlib.compress(bytes(71 * 90))[:-5]) + d[-12:], "truncated"),
        (lambda d: d[:33] + chunk(b"IDAT", zlib.compress(bytes(71 * 91))) + d[-12:], "malformed"),
        (lambda d: d[:33] + chunk(b"IDAT", b"nonsense") + d[-12:], "undecodable"),
    ],
)
def test_a_damaged_png_is_refused(change: Any, code: str) -> None:
    with pytest.raises(ImageRefused) as caught:
        read_png(change(png()))
    assert caught.value.code == code


@pytest.mark.parametrize("options", [{}, {"progressive": True}])
def test_a_jpeg_is_read_and_every_cut_of_it_refused(options: dict[str, Any]) -> None:
    data = save(Image.fromarray(GREY), "JPEG", quality=95, **options)
    assert np.abs(read_jpeg(data)[0].astype(int) - GREY).mean() < 4
    for share in (0.2, 0.5, 0.9, 0.99):
        for tail in (b"", b"\xff\xd9"):
            with pytest.raises(ImageRefused):
                read_jpeg(data[: int(len(data) * share)] + tail)


def test_a_colour_jpeg_comes_as_luminance() -> None:
    data = save(Image.fromarray(GREY).convert("RGB"), "JPEG", quality=95)
    assert np.abs(read_jpeg(data)[0].astype(int) - GREY).mean() < 4


@pytest.mark.parametrize("orientation", range(1, 9))
def test_an_image_is_turned_as_its_note_says(orientation: int) -> None:
    """Left must stay left: a mirrored photograph is mirrored back. Pillow is the reference."""
    from PIL import ImageOps

    picture = Image.fromarray(np.arange(12, dtype=np.uint8).reshape(3, 4))
    exif = Image.Exif()
    exif[0x0112] = orientation
    noted = Image.open(io.BytesIO(save(picture, "PNG", exif=exif)))
    expected = np.asarray(ImageOps.exif_transpose(noted))
    assert np.array_equal(turn(np.asarray(picture), orientation), expected)
    assert exif_orientation(exif.tobytes()[6:]) == orientation


@pytest.mark.parametrize("exif", [b"", b"II*\0", b"II*\0\xff\xff\xff\xff\1\0", b"nonsense" * 4])
def test_a_senseless_note_turns_nothing(exif: bytes) -> None:
    assert exif_orientation(exif) == 1

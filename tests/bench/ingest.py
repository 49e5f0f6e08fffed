"""Radiographs of 2048x2500 and 12 bits from DICOM to what is kept and shown: 200 films, the steps of one, and pictures
for models. As many films as REXVQA_BENCH_FILMS says, beside the Orthanc whose address REXVQA_BENCH_ORTHANC gives.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pydicom
from numpy.typing import NDArray
from PIL import Image as Picture
from pydicom.pixels.processing import apply_voi_lut
from pydicom.uid import generate_uid

from annotation.imaging.kernels import deidentification, rendering
from annotation.imaging.kernels.image_files import read_image
from annotation.imaging.kernels.picture_policies import QUARTER, STORED, picture_of, policy_named
from tests.annotation.imaging.dicomfiles import make_dicom
from tests.bench.measuring import in_test_database, seconds
from tests.bench.rows import Row, median
from tests.bench.viewer import HEIGHT, WIDTH, radiograph

DX = "1.2.840.10008.5.1.4.1.1.1.1"
REPEATS = 7
N_FILMS = 200
AT_ONCE = 50  # films on the disk
PLAIN, ORTHANC = "plain", "REXVQA_BENCH_ORTHANC"
POLICIES = (QUARTER, "longest-1024-1", STORED)


def dicom(pixels: NDArray[np.uint16]) -> bytes:
    """A DX file, 12 bits, MONOCHROME2, uncompressed, of an exam of its own."""
    uids = {"SOPClassUID": DX, "SOPInstanceUID": generate_uid(), "StudyInstanceUID": generate_uid()}
    return make_dicom(pixels, Modality="DX", WindowWidth="3600", **uids)


def milliseconds(act: Callable[[], object]) -> float:
    """The median of several runs, after one that does not count."""
    act()
    return 1000 * median(seconds(act) for _ in range(REPEATS))


def picture_for_model(stored: bytes, display: Mapping[str, Any], policy: str) -> bytes:
    """As it is made before the first call that sends the image."""
    payload = rendering.payload_of(stored, WIDTH, HEIGHT)
    return picture_of(payload, display, policy_named(policy))[0]


def plain_png(file: bytes) -> bytes:
    """What a simple importer does: pydicom's window, then an 8-bit PNG with Pillow."""
    source = pydicom.dcmread(io.BytesIO(file))
    greys = apply_voi_lut(source.pixel_array, source).astype(np.float32)
    greys = (greys - greys.min()) / max(1.0, float(np.ptp(greys))) * 255
    picture = io.BytesIO()
    Picture.fromarray(greys.astype(np.uint8)).save(picture, "PNG")
    return picture.getvalue()


def films(folder: Path, start: int) -> list[Path]:
    """Files of different pixels: one radiograph, moved down row by row."""
    paths = []
    for number in range(start, start + AT_ONCE):
        paths.append(folder / f"{number}.dcm")
        paths[-1].write_bytes(dicom(np.roll(radiograph_1(), number, axis=0)))
    return paths


@cache
def radiograph_1() -> NDArray[np.uint16]:
    return radiograph(1)


def used() -> float:
    """Processor time of this process and of its children that have ended, in seconds."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def taken_in(n_films: int) -> dict[str, float]:
    """Seconds that each needs for all films, with as many processes as cores; those of ours also of processor time.

    In turns, some films at a time; what is stored is deleted again, so that 200 films need no 5 GB.
    """
    from django.conf import settings
    from django.utils import timezone

    from annotation.ingest.exams import ingest_paths

    peers = {PLAIN: plain_file} | ({ORTHANC: orthanc_file} if os.environ.get(ORTHANC) else {})
    spent = dict.fromkeys(("clock", "processor", *peers), 0.0)
    for start in range(0, n_films, AT_ONCE):
        with tempfile.TemporaryDirectory() as folder:
            paths = films(Path(folder), start)
            before, busy = time.perf_counter(), used()
            result = ingest_paths(paths, bank=None, actor=None, at=timezone.now())
            spent["clock"] += time.perf_counter() - before
            spent["processor"] += used() - busy
            assert len(result.image_ids) == len(paths), result.as_json()
            for name, peer in peers.items():
                spent[name] += seconds(partial(at_once, peer, paths))
        shutil.rmtree(settings.MEDIA_ROOT)
    return spent


def at_once(act: Callable[[Path], None], paths: list[Path]) -> None:
    with ProcessPoolExecutor(os.cpu_count()) as beside:
        list(beside.map(act, paths))


def plain_file(path: Path) -> None:
    path.with_suffix(".png").write_bytes(plain_png(path.read_bytes()))


def orthanc_file(path: Path) -> None:
    """Store it, and read what corresponds to our two renditions; then delete it."""
    instances = f"{os.environ[ORTHANC]}/instances"
    with urlopen(Request(instances, data=path.read_bytes())) as answer:
        one = f"{instances}/{json.load(answer)['ID']}"
    for address in (f"{one}/preview", f"{one}/image-uint16"):
        urlopen(address).read()
    urlopen(Request(one, method="DELETE")).read()


def measure() -> list[Row]:
    n_films = int(os.environ.get("REXVQA_BENCH_FILMS", N_FILMS))
    return in_test_database(lambda: [*rates(-(-n_films // AT_ONCE) * AT_ONCE), *stages(), *pictures()])


def rates(n_films: int) -> list[Row]:
    spent = taken_in(n_films)
    names = {PLAIN: "pydicom + Pillow PNG", ORTHANC: "Orthanc, stored and both pictures"}
    name, goal = f"{n_films} films from file to rows", "12 films/s"
    return [
        *(
            Row(name, n_films / spent["clock"], "films/s", goal, names[peer], n_films / spent[peer])
            for peer in names
            if peer in spent
        ),
        Row("processor time of one film, with the child", spent["processor"] / n_films * 1000, "ms"),
    ]


def stages() -> list[Row]:
    """What one film takes, one step after the other."""
    from django.conf import settings

    from annotation.ingest import storage
    from annotation.ingest.sandbox import Decoder
    from annotation.ingest.storing import hash_pixels

    file = dicom(radiograph_1())
    source = read_image(file)
    names = deidentification.keyed_names(b"bench" * 8, source, exam="exam", image="image")
    payload, display = rendering.prepare(source)
    greys = rendering.as_8bit(payload, display)

    def deidentified() -> bytes:
        return deidentification.as_file(deidentification.deidentified(source, names, burned_in=False))

    made = deidentified()
    with Decoder(Path(settings.TEMP_ROOT)) as decoder:
        acts: dict[str, Callable[[], object]] = {
            "hash of the file": lambda: hashlib.sha256(file).hexdigest(),
            "decoding in the child, there and back": lambda: decoder.decode(file),
            "of that: reading and checking": lambda: read_image(file),
            "hash of the pixels": lambda: hash_pixels(source),
            "new de-identified object": deidentified,
            "payload and its range": lambda: rendering.prepare(source),
            "full depth": lambda: rendering.full_depth(payload),
            "grey of the screen": lambda: rendering.as_8bit(payload, display),
            "preview": lambda: rendering.preview(greys),
            "writing the object": lambda: storage.store(made),
        }
        return [Row(f"one film: {name}", milliseconds(act), "ms") for name, act in acts.items()]


def pictures() -> list[Row]:
    file = dicom(radiograph_1())
    payload, display = rendering.prepare(read_image(file))
    stored, shown = rendering.full_depth(payload), display.as_json()
    png = milliseconds(lambda: plain_png(file))
    spent = {name: milliseconds(partial(picture_for_model, stored, shown, name)) for name in POLICIES}
    return [
        Row(f"picture for a model from what is stored, {name}", value, "ms", "60 ms", "pydicom + Pillow PNG", png)
        for name, value in spent.items()
    ]

"""The few attributes of a DICOM file that may leave it, each taken through a closed vocabulary or as a number.

Whatever is not named here is never read. A code that is not in the vocabulary becomes unknown, so that no text of the
file can travel in one of these fields.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from annotation.enums import Sex, Turn, ViewPosition
from annotation.imaging.kernels.codestreams import ImageRefused
from annotation.imaging.kernels.elements import MODALITY_LUT_SEQUENCE, VOI_LUT_SEQUENCE, DicomFile
from annotation.imaging.kernels.orientation import turn_for
from annotation.imaging.kernels.views import view_of

CR = "1.2.840.10008.5.1.4.1.1.1"
DX_PRESENTATION = "1.2.840.10008.5.1.4.1.1.1.1"
DX_PROCESSING = "1.2.840.10008.5.1.4.1.1.1.1.1"
MODALITY_OF_CLASS = {CR: "CR", DX_PRESENTATION: "DX", DX_PROCESSING: "DX"}
SEXES = {"F": Sex.FEMALE, "M": Sex.MALE, "O": Sex.OTHER}
CHEST_PARTS = frozenset({"CHEST", "THORAX", "LUNG", "LUNGS", "RIB", "RIBS", "STERNUM", "HEART", "CHESTABDOMEN"})
VOI_FUNCTIONS = frozenset({"LINEAR", "LINEAR_EXACT", "SIGMOID"})
CALIBRATED = frozenset({"GEOMETRY", "FIDUCIAL"})
_UID = re.compile(r"(?=.{1,64}$)\d+(\.\d+)*")
_MAX_WINDOWS = 8
_MAX_VOI_LUTS = 4


@dataclass(frozen=True, eq=False)
class LookupTable:
    """A DICOM LUT: input `first` maps to data[0]; smaller inputs too, larger than the last to the last."""

    first: int
    bits: int
    data: NDArray[np.uint16]


@dataclass(frozen=True)
class Window:
    center: float
    width: float


@dataclass(frozen=True)
class Attributes:
    """What a new object may be built from. Every field is a number, a flag or a word of a closed vocabulary."""

    modality: str = ""
    view_position: ViewPosition = ViewPosition.UNKNOWN
    laterality: str = ""  # L, R, B, U or empty
    patient_orientation: tuple[str, ...] = ()
    turn: Turn = Turn.NONE  # what the orientation asks for
    is_chest: bool | None = None  # None: body part not stated
    age_years: int | None = None  # 90 means 90 or older
    sex: Sex = Sex.UNKNOWN
    is_inverted: bool = False  # MONOCHROME1: small values are white
    bits_stored: int = 8
    slope: float = 1.0
    intercept: float = 0.0
    modality_lut: LookupTable | None = None
    windows: tuple[Window, ...] = ()
    voi_function: str = "LINEAR"
    voi_luts: tuple[LookupTable, ...] = ()  # alternatives, the first one opens
    padding: tuple[int, int] | None = None  # stored values, lowest and highest
    spacing: tuple[float, float] | None = None  # mm between rows, between columns
    spacing_calibrated: bool = False
    aspect: float = 1.0  # height of a pixel / its width
    burned_in: bool | None = None
    lossy: bool = False


@dataclass(frozen=True)
class Identifiers:
    """What the object is called at its source. Restricted: for matching and keyed pseudonyms only."""

    patient_id: str = ""
    accession_number: str = ""
    study_uid: str = ""
    sop_uid: str = ""
    missed_view: str = ""  # what it says of its view that is not understood; no word of a closed vocabulary


def read_attributes(file: DicomFile, *, bits_stored: int, signed: bool) -> tuple[Attributes, list[str]]:
    """The allowed attributes and the codes of what had to be left out. Raises ImageRefused (lookup_table)."""
    view, missed = view_of(file)
    warnings = ["view"] if missed else []
    slope, intercept = _rescale(file, warnings)
    windows, function = _windows(file, warnings)
    modality_lut = _modality_lut(file, signed=signed)
    lowest = min(end * slope + intercept for end in stored_range(bits_stored, signed=signed))
    spacing, calibrated, aspect = _spacing(file)
    orientation = _orientation(file)
    turn = turn_for(orientation, view)
    warnings += ["orientation"] if turn is None else []
    attributes = Attributes(
        modality=modality_of(file),
        view_position=view,
        laterality=_one_of(code(file, 0x00200062) or code(file, 0x00200060), ("L", "R", "B", "U")),
        patient_orientation=orientation,
        turn=turn or Turn.NONE,
        is_chest=_is_chest(code(file, 0x00180015)),
        age_years=age_in_years(_text(file, 0x00101010)),
        sex=SEXES.get(code(file, 0x00100040), Sex.UNKNOWN),
        is_inverted=code(file, 0x00280004) == "MONOCHROME1",
        bits_stored=bits_stored,
        slope=slope,
        intercept=intercept,
        modality_lut=modality_lut,
        windows=windows,
        voi_function=function,
        voi_luts=_voi_luts(file, signed=modality_lut is None and lowest < 0, warnings=warnings),
        padding=_padding(file, signed=signed),
        spacing=spacing,
        spacing_calibrated=calibrated,
        aspect=aspect,
        burned_in={"YES": True, "NO": False}.get(code(file, 0x00280301)),
        lossy=code(file, 0x00282110) == "01" or file.transfer_syntax[-5:] in (".4.50", ".4.51", ".4.81"),
    )
    return attributes, warnings


def read_identifiers(file: DicomFile) -> Identifiers:
    """Raises ImageRefused (uid) when the SOP Instance UID is missing or a UID is not built as PS3.5 9.1 asks."""
    sop, study = _text(file, 0x00080018), _text(file, 0x0020000D)
    if not _UID.fullmatch(sop) or (study and not _UID.fullmatch(study)):
        raise ImageRefused("uid")
    return Identifiers(_text(file, 0x00100020)[:64], _text(file, 0x00080050)[:64], study, sop, view_of(file)[1])


def age_in_years(text: str) -> int | None:
    """Age String (PS3.5 6.2) in whole years; 90 means everything above 89, None for what is not an age."""
    found = re.fullmatch(r"(\d{3})([DWMY])", text)
    if not found:
        return None
    days = {"D": 1, "W": 7, "M": 30.4375, "Y": 365.25}[found[2]]
    years = int(found[1]) if found[2] == "Y" else int(int(found[1]) * days / 365.25)
    return min(years, 90)


def number(file: DicomFile, tag: int) -> int | None:
    """An unsigned 16-bit value, or None when it is absent or has another length."""
    value = file.values.get(tag, b"")
    return int(struct.unpack("<H", value)[0]) if len(value) == 2 else None


def modality_of(file: DicomFile) -> str:
    """Modality; where it is not given, that of the SOP class."""
    return code(file, 0x00080060) or MODALITY_OF_CLASS.get(code(file, 0x00080016), "")


def code(file: DicomFile, tag: int) -> str:
    return _text(file, tag).upper()


def _text(file: DicomFile, tag: int) -> str:
    return file.values.get(tag, b"").decode("latin-1").rstrip("\0 ").lstrip(" ")


def decimals(file: DicomFile, tag: int) -> list[float | None]:
    """The values of a Decimal String; None for one that is not a finite number."""
    return [_decimal(part) for part in _text(file, tag).split("\\")] if _text(file, tag) else []


def _decimal(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) < 1e9 else None


def _one_of(value: str, allowed: tuple[str, ...]) -> str:
    return value if value in allowed else ""


def _orientation(file: DicomFile) -> tuple[str, ...]:
    parts = tuple(code(file, 0x00200020).split("\\"))
    return parts if len(parts) == 2 and all(re.fullmatch(r"[LRAPHF]{1,3}", part) for part in parts) else ()


def _is_chest(body_part: str) -> bool | None:
    if not body_part:
        return None
    return body_part in CHEST_PARTS or body_part.startswith("CHEST")


def _rescale(file: DicomFile, warnings: list[str]) -> tuple[float, float]:
    slope, intercept = decimals(file, 0x00281053) or [1.0], decimals(file, 0x00281052) or [0.0]
    if not slope[0] or intercept[0] is None or abs(slope[0]) < 1e-6:
        warnings.append("rescale")
        return 1.0, 0.0
    return slope[0], intercept[0]


def _windows(file: DicomFile, warnings: list[str]) -> tuple[tuple[Window, ...], str]:
    """Usable pairs of centre and width. A LINEAR width must be 1 or more, the others above 0 (PS3.3 C.11.2.1.2)."""
    function = _one_of(code(file, 0x00281056), tuple(VOI_FUNCTIONS)) or "LINEAR"
    pairs = zip(decimals(file, 0x00281050), decimals(file, 0x00281051), strict=False)
    least = 1.0 if function == "LINEAR" else 1e-6
    windows = [Window(c, w) for c, w in pairs if c is not None and w is not None and w >= least]
    if not windows and (file.values.get(0x00281050) or file.values.get(0x00281051)):
        warnings.append("window")
    return tuple(dict.fromkeys(windows))[:_MAX_WINDOWS], function


def stored_window(file: DicomFile) -> tuple[float, float] | None:
    """The stored values between which the first window of the file lies; None without one."""
    (slope, intercept), windows = _rescale(file, []), _windows(file, [])[0]
    ends = [(window.center + side * window.width / 2 - intercept) / slope for window in windows[:1] for side in (-1, 1)]
    return (min(ends), max(ends)) if ends else None


def stored_range(bits_stored: int, *, signed: bool) -> tuple[int, int]:
    """The lowest and the highest value that so many bits can hold."""
    return (-(1 << (bits_stored - 1)), (1 << (bits_stored - 1)) - 1) if signed else (0, (1 << bits_stored) - 1)


def _lookup_table(item: Mapping[int, bytes], *, signed: bool) -> LookupTable:
    """One table of a LUT sequence (PS3.3 C.11.1). Its descriptor must fit its data."""
    import numpy as np  # not at every start

    descriptor, data = item.get(0x00283002, b""), item[0x00283006]
    if len(descriptor) != 6:
        raise ImageRefused("lookup_table")
    n_entries, first, bits = struct.unpack("<HhH" if signed else "<HHH", descriptor)
    n_entries = n_entries or 65536
    if not 8 <= bits <= 16:
        raise ImageRefused("lookup_table")
    if len(data) == 2 * n_entries:
        table = np.frombuffer(data, "<u2").astype(np.uint16)
    elif bits == 8 and len(data) == n_entries + n_entries % 2:
        table = np.frombuffer(data, "u1", count=n_entries).astype(np.uint16)
    else:
        raise ImageRefused("lookup_table")
    return LookupTable(first, bits, table)


def _scaled(table: LookupTable, warnings: list[str]) -> LookupTable:
    """A VOI table whose white is what its largest entry needs: some name 16 bits and hold 12 (dicom-rs#825)."""
    top = int(table.data.max())
    if not top:
        raise ImageRefused("lookup_table")
    held = max(top.bit_length(), 8) if top != 1 << table.bits else table.bits  # one too many is a slip of rounding
    if held != table.bits:
        warnings.append("voi_lut_bits")
    return _clipped(replace(table, bits=held))


def colour_table(file: DicomFile) -> LookupTable:
    """The palette of a grey picture (PS3.3 C.7.9). Raises ImageRefused: samples where it has colours, lookup_table."""
    lut = {0x00283002: 0x00281101, 0x00283006: 0x00281201}  # of red; green and blue follow
    items = [{tag: file.values.get(own + n, b"") for tag, own in lut.items()} for n in range(3)]
    red, *others = (_lookup_table(item, signed=number(file, 0x00280103) == 1) for item in items)
    for other in others:
        if (other.first, len(other.data)) != (red.first, len(red.data)) or (other.data != red.data).any():
            raise ImageRefused("samples")
    return _scaled(red, [])


def _clipped(table: LookupTable) -> LookupTable:
    import numpy as np  # not at every start

    return replace(table, data=np.minimum(table.data, (1 << table.bits) - 1))


def _tables(file: DicomFile, tag: int) -> list[Mapping[int, bytes]]:
    return [item for item in file.sequences.get(tag, ()) if 0x00283006 in item]


def _modality_lut(file: DicomFile, *, signed: bool) -> LookupTable | None:
    tables = _tables(file, MODALITY_LUT_SEQUENCE)
    return _clipped(_lookup_table(tables[0], signed=signed)) if tables else None


def _voi_luts(file: DicomFile, *, signed: bool, warnings: list[str]) -> tuple[LookupTable, ...]:
    """A damaged VOI table only costs a window; a damaged modality table would cost the meaning of the pixels.

    `signed`: whether values after the modality step can be below zero. Their first input is then signed too.
    """
    luts = []
    for item in _tables(file, VOI_LUT_SEQUENCE)[:_MAX_VOI_LUTS]:
        try:
            luts.append(_scaled(_lookup_table(item, signed=signed), warnings))
        except ImageRefused:
            warnings.append("voi_lut")
    return tuple(luts)


def _padding(file: DicomFile, *, signed: bool) -> tuple[int, int] | None:
    value, limit = file.values.get(0x00280120, b""), file.values.get(0x00280121, b"")
    if len(value) != 2:
        return None
    form = "<h" if signed else "<H"
    low = int(struct.unpack(form, value)[0])
    high = int(struct.unpack(form, limit)[0]) if len(limit) == 2 else low
    return min(low, high), max(low, high)


def _pair(file: DicomFile, tag: int) -> tuple[float, float] | None:
    values = decimals(file, tag)
    if len(values) != 2 or not values[0] or not values[1] or min(values[0], values[1]) <= 0:
        return None
    return values[0], values[1]


def _spacing(file: DicomFile) -> tuple[tuple[float, float] | None, bool, float]:
    """Spacing in mm, whether it was calibrated to the patient, and the shape of a pixel.

    Imager Pixel Spacing is measured at the detector. Pixel Spacing of a projection counts as calibrated only when
    the file says how, or when it differs from the detector's (PS3.3 10.7.1.3). Pixel Aspect Ratio is for files
    without spacing (PS3.3 C.7.6.3.1.7): beside a spacing it is left alone.
    """
    at_detector, given = _pair(file, 0x00181164), _pair(file, 0x00280030)
    spacing = given or at_detector
    calibrated = given is not None and (
        code(file, 0x00280A02) in CALIBRATED or (at_detector is not None and at_detector != given)
    )
    ratio = spacing or _pair(file, 0x00280034) or (1.0, 1.0)
    aspect = ratio[0] / ratio[1]
    return spacing, calibrated, round(aspect, 6) if 0.1 <= aspect <= 10 else 1.0

"""Parts that an installation can leave out (requirements-small.txt): which are here, and what is off without them."""

from __future__ import annotations

from importlib.util import find_spec

_PARQUET = ("pyarrow",)
_TEXT_SEARCH = ("cv2", "rapidocr", "onnxruntime")
INSTALL = "install requirements.txt to have it"


def _is_here(modules: tuple[str, ...]) -> bool:
    return all(find_spec(name) is not None for name in modules)


def has_parquet() -> bool:
    return _is_here(_PARQUET)


def has_text_search() -> bool:
    return _is_here(_TEXT_SEARCH)


def extras_off() -> dict[str, str]:
    """What is off, by name, each with a sentence; empty where everything is installed."""
    off = {}
    if not has_parquet():
        off["parquet"] = f"off: pyarrow is not installed; {INSTALL}"
    if not has_text_search():
        off["text_search"] = f"off: every new image waits in quarantine for a person; {INSTALL}"
    return off

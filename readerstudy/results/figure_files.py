"""The files of the figures of an analysis: drawn once and kept in the home of the site.

An analysis never changes, so a file is named by the hash of its result and by the version of what draws it. The folder
``cache/figures`` may be deleted at any time: what is asked for is drawn again. Backups leave it out.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import MappingProxyType

from django.conf import settings
from django.utils.translation import gettext as _

from annotation import figures as shared_figures
from annotation.figures.kernels.forms import FigureForm, Width
from annotation.models import User
from readerstudy.design.kernels.documents import canonical, sha256_of
from readerstudy.models import Analysis, Enrolment
from readerstudy.results import kernels
from readerstudy.results.looking import named_result, reader_names, stored_result
from readerstudy.study.locking import StudyRefused

SHOWN = (  # on pages; the others are links
    ("difference", Width.ONE),
    ("accuracy", Width.TWO),
    ("accuracy-by-task", Width.TWO),
    ("accuracy-by-category", Width.TWO),
    ("time", Width.TWO),
    ("calibration", Width.TWO),
)
NOBODY: Mapping[str, str] = MappingProxyType({})  # readers appear under their pseudonyms


def figure_file(
    analysis: Analysis,
    name: str,
    form: FigureForm,
    width: Width,
    *,
    names: Mapping[str, str] = NOBODY,
    afresh: bool = False,
) -> bytes:
    """The file as it was kept, or drawn now and kept; ``names`` of readers by their pseudonyms.

    Refused where the analysis holds nothing that the figure shows.
    """
    path = _folder() / _shown_sha256(analysis, names) / f"{name}-{width.value}.{form.value}"
    if not afresh:
        with suppress(FileNotFoundError):
            return path.read_bytes()
    file = _drawn(analysis, name, form, width, names)
    with suppress(OSError):  # what cannot be kept is shown all the same
        _keep(path, file)
    return file


def forget_named(person: User) -> None:
    """Kept figures that may name a reader who goes; they are drawn again when somebody asks."""
    if Enrolment.objects.filter(reader=person).exists():
        shutil.rmtree(_folder(), ignore_errors=True)


def figures_in(analysis: Analysis) -> list[str]:
    """The names of the figures for which an analysis holds data."""
    from readerstudy.results.kernels.rendering import figures_of

    return figures_of(stored_result(analysis))


def figure_tag(
    analysis: Analysis, name: str, form: FigureForm, width: Width, *, names: Mapping[str, str] = NOBODY
) -> str:
    """What a browser calls the file (ETag): another one for another drawing."""
    named = f"{_shown_sha256(analysis, names)}/{name}-{width.value}.{form.value}/{drawing_version()}"
    return f'"{sha256(named.encode()).hexdigest()[:32]}"'


def prepare_figures(analysis: Analysis) -> int:
    """Draw what the pages show, and delete what earlier versions of the program drew; how many figures there are."""
    keep = _folder()
    for folder in keep.parent.glob("*"):
        if folder != keep:
            shutil.rmtree(folder, ignore_errors=True)
    there = figures_in(analysis)
    shown, names = [(name, width) for name, width in SHOWN if name in there], reader_names(analysis)
    for name, width in shown:
        figure_file(analysis, name, FigureForm.SVG, width, names=names)
    return len(shown)


def _shown_sha256(analysis: Analysis, names: Mapping[str, str]) -> str:
    """Of the result, and of the names of readers where they are shown."""
    return sha256_of(analysis.result_sha256 + canonical(dict(names))) if names else analysis.result_sha256


def _drawn(analysis: Analysis, name: str, form: FigureForm, width: Width, names: Mapping[str, str]) -> bytes:
    from readerstudy.results.kernels.rendering import figures_of, render

    result = named_result(analysis, names)
    if name not in figures_of(result):
        raise StudyRefused("no_such_figure", _("This analysis has no such figure."), status=404)
    return render(name, result, form, width)


def _keep(path: Path, file: bytes) -> None:
    """Under its name only when all of it is written, whoever else writes it at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".part", delete=False) as part:
        try:
            part.write(file)
            part.close()
            Path(part.name).replace(path)
        finally:
            Path(part.name).unlink(missing_ok=True)


def _folder() -> Path:
    return Path(settings.HOME) / "cache" / "figures" / drawing_version()


@cache
def drawing_version() -> str:
    """Of the modules that draw and of matplotlib: another one as soon as a picture could look different."""
    digest = sha256(version("matplotlib").encode())
    for module in modules_that_draw():
        digest.update(module.read_bytes())
    return digest.hexdigest()[:16]


def modules_that_draw() -> list[Path]:
    """The figures of a study, and the tables and words of results that they show, stand in one folder."""
    packages = [Path(one.__path__[0]) for one in (shared_figures, kernels)]
    return [module for package in packages for module in sorted(package.rglob("*.py"))]

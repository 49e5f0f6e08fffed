"""Where results are looked at, which analysis is shown there, and the links that show one without an account.

An analysis never changes, so a file is named by the hash of its result and by the version of what draws it. The folder
``cache/figures`` may be deleted at any time: what is asked for is drawn again. Backups leave it out.
"""

from __future__ import annotations

import secrets
import shutil
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache, lru_cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import MappingProxyType
from typing import Any

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation import tables
from annotation.audit.recording import record
from annotation.models import User
from annotation.people.revived import Opener
from annotation.people.tokens import token_sha256
from annotation.tables.kernels.forms import FigureForm, Width
from readerstudy.analysis.kernels.labels import sensitivity_words
from readerstudy.analysis.kernels.result import StoredAnalysis
from readerstudy.analysis.storing import settings_of
from readerstudy.design.kernels.documents import canonical, read_rules, sha256_of
from readerstudy.models import Analysis, Enrolment, ReaderStudy, ResultsLink
from readerstudy.predictions.looks import is_seen
from readerstudy.results import kernels
from readerstudy.results.kernels.stored import in_the_form_of_now, with_names
from readerstudy.study.permissions import StudyRefused

KEPT = 4  # results that a process keeps decoded: up to some 30 MB each, of 41,007 questions


def own_analysis(study: ReaderStudy) -> Analysis | None:
    """By the plan's settings: what pages, figures and reports show, whatever else was computed beside it."""
    return Analysis.objects.select_related("study").defer("result").filter(own_of=study).first()


def sensitivity_beside(analysis: Analysis) -> list[tuple[Analysis, str]]:
    """The sensitivity analyses of the same inputs, each with what differs; none beside one of them."""
    rows = analysis.study.analyses.filter(inputs_sha256=analysis.inputs_sha256).exclude(pk=analysis.pk).defer("result")
    found = [(one, sensitivity_words(settings_of(one))) for one in rows.select_related("study")]
    return [] if sensitivity_words(settings_of(analysis)) else [one for one in found if one[1]]


def stored_result(analysis: Analysis) -> StoredAnalysis:
    """The decoded JSON: read-only, since other requests are shown the same object."""
    return _decoded(analysis.pk, analysis.result_sha256)


def named_result(analysis: Analysis, names: Mapping[str, str]) -> StoredAnalysis:
    """The same with these names in place of pseudonyms: read-only as well."""
    if not names:
        return stored_result(analysis)
    return _named(analysis.pk, analysis.result_sha256, tuple(sorted(names.items())))


@lru_cache(maxsize=KEPT)
def _named(pk: int, result_sha256: str, names: tuple[tuple[str, str], ...]) -> StoredAnalysis:
    return with_names(_decoded(pk, result_sha256), dict(names))


@lru_cache(maxsize=KEPT)
def _decoded(pk: int, result_sha256: str) -> StoredAnalysis:
    """Cached by the hash of its bytes, so that it is right whatever happens to the rows."""
    analysis = Analysis.objects.select_related("study").get(pk=pk, result_sha256=result_sha256)
    result = msgspec.json.decode(analysis.result)
    result["settings"] |= settings_of(analysis)
    return in_the_form_of_now(result)


def reader_names(analysis: Analysis) -> dict[str, str]:
    """The names to show, by pseudonym; nobody where the study keeps pseudonyms.

    Only of readers who agreed, and have neither withdrawn nor been replaced. A name that is also that of another
    rater is not shown: it would not tell them apart.
    """
    if not read_rules(analysis.study.rules).reader_names:
        return {}
    agreed = Enrolment.objects.filter(
        study=analysis.study, reader__isnull=False, consented_at__isnull=False, withdrawn_at=None, replaced_at=None
    ).filter(reader__removed_at=None)
    names = {pseudonym: name.strip() for pseudonym, name in agreed.values_list("pseudonym", "reader__name")}
    raters = [one["name"] for one in stored_result(analysis)["raters"]]
    taken = Counter(name.casefold() for name in [*raters, *names.values()])
    return {pseudonym: name for pseudonym, name in names.items() if name and taken[name.casefold()] == 1}


class ResultsRoutes(msgspec.Struct, frozen=True):
    """The addresses of the results pages, and the frame around them. A shared link leads to nothing else."""

    prefix: str
    place: tuple[str, ...]  # what every address begins with
    base: str  # the template that a page extends
    ends_at: datetime | None = None  # of a shared link

    @property
    def is_shared(self) -> bool:
        return self.ends_at is not None

    def to(self, page: str, *more: Any) -> str:
        """``page`` as the names of the addresses end: analysed, agreement, categories, times, figure."""
        return reverse(f"{self.prefix}-{page}", args=[*self.place, *more])


class Seen(msgspec.Struct, frozen=True):
    """A stored analysis that somebody may look at, and the addresses under which they see it."""

    routes: ResultsRoutes
    analysis: Analysis
    result: StoredAnalysis

    def context(self) -> dict[str, Any]:
        """What every results page needs."""
        return {"routes": self.routes, "study": self.analysis.study, "analysis": self.analysis, "result": self.result}


def inside(analysis: Analysis) -> ResultsRoutes:
    return ResultsRoutes("study", (analysis.study.slug, analysis.public_id), "base.html")


def by_link(token: str, ends_at: datetime) -> ResultsRoutes:
    return ResultsRoutes("shared", (token,), "readerstudy/sharing/base.html", ends_at)


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
    packages = [Path(one.__path__[0]) for one in (tables, kernels)]
    return [module for package in packages for module in sorted(package.rglob("*.py"))]


DAYS = (1, 7, 30)
A_MINUTE = timedelta(minutes=1)
MADE, REVOKED, RESTORED = "results_link.made", "results_link.revoked", "results_link.restored"
FIRST_USED = "results_link.first_used"


class IssuedLink(Struct, frozen=True):
    """A link with its token. The token exists nowhere else: shown once, it cannot be shown again."""

    link: ResultsLink
    token: str


@transaction.atomic
def share_results(analysis: Analysis, *, days: int, note: str, actor: User, at: datetime) -> IssuedLink:
    """Raises StudyRefused for a study whose results nobody may see or has seen yet, and for other days than DAYS."""
    if days not in DAYS:
        raise StudyRefused("out_of_range", _("A link works for 1, 7 or 30 days."))
    if not is_seen(analysis.study):
        sentence = _("The results of this study have not been looked at yet: they cannot be shared.")
        raise StudyRefused("not_seen_yet", sentence)
    token = secrets.token_urlsafe(32)
    link = ResultsLink.objects.create(
        analysis=analysis,
        token_sha256=token_sha256(token),
        note=note.strip(),
        created_by=actor,
        created_at=at,
        expires_at=at + timedelta(days=days),
    )
    facts = {"link": link.pk, "analysis": analysis.public_id, "days": days}
    record(MADE, actor=actor, at=at, subject=analysis.study, facts=facts)
    return IssuedLink(link, token)


@transaction.atomic
def revoke_link(link: ResultsLink, *, actor: User | None, at: datetime, reason: str = "") -> None:
    """Make a link useless. One that is revoked or expired stays as it is."""
    link.refresh_from_db(from_queryset=ResultsLink.objects.select_for_update())
    if not link.is_open(at):
        return
    link.revoked_at = at
    link.save(update_fields=["revoked_at"])
    study = link.analysis.study
    facts = {"link": link.pk} | ({"reason": reason} if reason else {})
    record(REVOKED, actor=actor, at=at, subject=study, facts=facts)


def revoke_shared(links: QuerySet[ResultsLink], *, actor: User | None, at: datetime, reason: str) -> None:
    """All of these, in the transaction of the act that needs it."""
    for link in links:
        revoke_link(link, actor=actor, at=at, reason=reason)


@transaction.atomic
def restore_link(link: ResultsLink, *, actor: User, at: datetime) -> None:
    """Let a revoked link work again until its day. Raises StudyRefused where it has ended or is not revoked."""
    link.refresh_from_db(from_queryset=ResultsLink.objects.select_for_update())
    if link.revoked_at is None or link.expires_at <= at:
        raise StudyRefused("link_ended", _("This link is not revoked, or has ended: make a new one."))
    link.revoked_at = None
    link.save(update_fields=["revoked_at"])
    record(RESTORED, actor=actor, at=at, subject=link.analysis.study, facts={"link": link.pk})


SHARED = Opener(ResultsLink.objects.select_related("analysis__study").defer("analysis__result"), revoke_shared)


def find_link(token: str) -> ResultsLink | None:
    """The link of a token, whatever its standing; None for a token that was never given out."""
    rows = ResultsLink.objects.select_related("analysis__study").defer("analysis__result")
    return rows.filter(token_sha256=token_sha256(token)).first()


def is_good(link: ResultsLink, at: datetime) -> bool:
    """Neither expired nor revoked, and the results may still be seen."""
    return link.is_open(at) and is_seen(link.analysis.study)


def note_use(link: ResultsLink, *, at: datetime) -> None:
    """Remember when a link was used, at most once a minute; its first use is in the audit log."""
    is_due = Q(last_used_at__isnull=True) | Q(last_used_at__lt=at - A_MINUTE)
    if link.last_used_at is not None and at - link.last_used_at <= A_MINUTE:
        return
    with transaction.atomic():
        is_first = link.last_used_at is None
        n_noted = ResultsLink.objects.filter(is_due, pk=link.pk).update(last_used_at=at)
        if n_noted and is_first:
            record(FIRST_USED, actor=None, at=at, subject=link.analysis.study, facts={"link": link.pk})


def links_of(study: ReaderStudy) -> QuerySet[ResultsLink]:
    """All that were ever made, newest first."""
    return (
        ResultsLink.objects.filter(analysis__study=study)
        .select_related("created_by", "analysis")
        .defer("analysis__result")
    )

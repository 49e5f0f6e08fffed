"""manage.py ingest_images PATH...: DICOM, PNG and JPEG files, folders and ZIP archives become exams with images."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from rich.progress import MofNCompleteColumn

from annotation.enums import ImageState
from annotation.ingest.exams import IngestResult, ingest_paths
from annotation.ingest.searching import check_text
from annotation.ingest.storage import sweep_orphans
from annotation.management.base import ActCommand, progress_bar
from annotation.models import Image, QuestionBank

SHOWN_REFUSALS = 20


class Command(ActCommand):
    help = (
        "Take in DICOM (CR, DX, secondary capture; one frame), PNG and JPEG files, folders and ZIP archives. "
        "A file that is refused leaves nothing behind; the others come in. What came in before is left alone."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a file, a folder or a ZIP archive")
        parser.add_argument("--bank", metavar="NAME", help="the bank (name or slug) that the images belong to")
        parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        for path in options["paths"]:
            if not path.exists():
                raise CommandError(_("%(path)s is neither a file nor a folder.") % {"path": path}, returncode=2)
        bank = self._bank(options["bank"])
        sweep_orphans(at=timezone.now())
        with progress_bar(
            _("Reading images"), MofNCompleteColumn, quiet=options["json"] or options["verbosity"] == 0
        ) as watch:
            result = ingest_paths(
                options["paths"], bank=bank, actor=None, at=timezone.now(), search_text=_search_text, watch=watch
            )
        for image in Image.objects.filter(state=ImageState.CHECKING):  # left by a run that was interrupted
            _search_text(image)
        self._print(result, as_json=options["json"], verbosity=options["verbosity"])

    def _bank(self, name: str | None) -> QuestionBank | None:
        if name is None:
            return None
        banks = QuestionBank.objects.filter(archived_at=None)
        bank = banks.filter(name=name).first() or banks.filter(slug=name).first()
        if bank is None:
            raise CommandError(
                _("--bank: there is no bank %(name)r. Nothing was stored.") % {"name": name}, returncode=2
            )
        return bank

    def _print(
        self, result: IngestResult, told: dict[str, Any] | None = None, *, as_json: bool, verbosity: int
    ) -> None:
        facts = result.as_json() | (told or {})
        if as_json:
            self.stdout.write(json.dumps(facts, ensure_ascii=False, indent=1))
        elif verbosity:
            for label in ("files", "exams", "images", "duplicates", "quarantined"):
                self.stdout.write(f"  {label:<12}{facts[label]:>8,}")
            if facts.get("known"):
                self.stdout.write(_("  {known:,} were here and were not fetched").format(**facts))
            if facts.get("more"):
                self.stdout.write(_("  The PACS has more of these; call this again, and it goes on with them."))
            if result.n_waiting:
                self.stdout.write(_("  met {met:,} of {waiting:,} images that questions wait for").format(**facts))
            for reason, n in facts.get("reasons", {}).items():
                self.stdout.write(_("  {n:,} in quarantine: {reason}").format(n=n, reason=reason))
            for sentence, n in facts.get("warnings", {}).items():
                self.stdout.write(_("  {n:,} with a warning: {sentence}").format(n=n, sentence=sentence))
            for view in facts.get("views", []):
                self.stdout.write(_("  view {words!r} not understood: {images:,} images").format(**view))
            if facts.get("views"):
                self.stdout.write(_("  A coordinator says what these mean: {page}").format(page=reverse("views-said")))
        n_refused = len(facts["refused"])
        for refusal in facts["refused"][: 0 if as_json else SHOWN_REFUSALS]:
            self.stderr.write(f"{refusal['file']!r}: {refusal['message']} [{refusal['code']}]")
        if n_refused > SHOWN_REFUSALS and not as_json:
            self.stderr.write(_("%(n)d more; --json lists them.") % {"n": n_refused - SHOWN_REFUSALS})
        if facts.get("problem"):
            raise CommandError(facts["problem"], returncode=2)
        if n_refused:
            raise CommandError(
                _("%(refused)d of %(files)d files were refused and are not stored.")
                % {"refused": n_refused, "files": result.n_files},
                returncode=2,
            )


def _search_text(image: Image) -> None:
    """Search now, so that the numbers printed at the end are final. What fails stays unseen and is searched later."""
    with contextlib.suppress(OSError, ValueError):
        check_text(image, at=timezone.now())

"""manage.py ingest_dicomweb NAME: images of a PACS that the settings name come in, as files do by ingest_images."""

from __future__ import annotations

import tempfile
from datetime import date
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _
from rich.progress import MofNCompleteColumn

from annotation.ingest.fetching import fetch_images, query_of
from annotation.ingest.pacs import PacsClient, pacs_named
from annotation.management.base import progress_bar
from annotation.management.commands.ingest_images import Command as IngestCommand
from annotation.management.commands.ingest_images import _search_text


class Command(IngestCommand):
    help = (
        "Fetch images from a PACS by DICOMweb. What is here is not fetched again: the same command goes on where "
        "one before it ended."
    )
    unchanged = ""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("pacs", metavar="NAME", help="the PACS, as REXVQA_DICOMWEB names it")
        parser.add_argument("--from", type=date.fromisoformat, dest="first", metavar="DAY", help="as 2026-03-31")
        parser.add_argument("--to", type=date.fromisoformat, dest="last", metavar="DAY")
        parser.add_argument("--modality", nargs="+", default=["CR", "DX"], help="default: CR DX")
        parser.add_argument("--body-part", default="", metavar="PART", help="Body Part Examined, such as CHEST")
        parser.add_argument("--accession", type=Path, metavar="FILE", help="accession numbers, one a line")
        parser.add_argument("--most", type=int, default=1000, metavar="N", help="images at once (default: 1000)")
        parser.add_argument("--bank", metavar="NAME", help="the bank (name or slug) that the images belong to")
        parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        pacs, bank = pacs_named(options["pacs"]), self._bank(options["bank"])
        query = query_of(
            modalities=options["modality"],
            first=options["first"],
            last=options["last"],
            body_part=options["body_part"],
            accession_numbers=options["accession"].read_text().splitlines() if options["accession"] else (),
            most=options["most"],
            today=timezone.localdate(),
        )
        quiet = options["json"] or options["verbosity"] == 0
        with (
            tempfile.TemporaryDirectory(dir=settings.TEMP_ROOT, prefix="dicomweb-") as folder,
            PacsClient.of(pacs) as client,
            progress_bar(_("Fetching images"), MofNCompleteColumn, quiet=quiet) as watch,
        ):
            fetched = fetch_images(
                client,
                query,
                bank=bank,
                actor=None,
                at=timezone.now(),
                folder=Path(folder),
                search_text=_search_text,
                watch=watch,
            )
        told = {"known": fetched.n_known, "more": fetched.has_more, "problem": str(fetched.problem or "")}
        self._print(fetched.result, told, as_json=options["json"], verbosity=options["verbosity"])

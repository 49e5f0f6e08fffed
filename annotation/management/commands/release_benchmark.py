from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from rich.progress import MofNCompleteColumn, TaskProgressColumn

from annotation.enums import Split
from annotation.exports.bank_export import check_empty
from annotation.exports.release_files import note_taken, recipient_of, write_release
from annotation.exports.releases import NearReleased, ReleasePlan, ReleaseWanted, plan_as_json, plan_release, release
from annotation.management.base import ActCommand, progress_bar
from annotation.models import QuestionBank, Release
from annotation.site.sentences import the_one

SHARES = {Split.TRAIN: 70, Split.VALID: 10, Split.TEST: 10, Split.PRIVATE: 10}


class Command(ActCommand):
    unchanged = "Nothing was released or written."
    help = "Release what passes the gate of a bank, in splits by patient, and write it; or write a release again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bank", required=True, help="name or address of the bank")
        parser.add_argument("--name", required=True, help="of the release; with --again that of one that is there")
        parser.add_argument("--gate", default="", help="name of the bank's gate; refused where it has another one")
        for split, share in SHARES.items():
            parser.add_argument(f"--{split}", type=int, default=share, metavar="PERCENT", help=f"(without it: {share})")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--as-imported", action="store_true", help="the splits of the imported files, none drawn")
        parser.add_argument("--dry-run", action="store_true", help="only print what would be released")
        parser.add_argument("--again", action="store_true", help="write a release that is there once more")
        parser.add_argument("--output", metavar="FOLDER", help="a new folder, or an empty one")
        parser.add_argument("--images", choices=["full", "quarter"], default="", help="also these, as PNG")
        parser.add_argument("--keys", metavar="FILE", help="the answers of the private split, encrypted, elsewhere")
        parser.add_argument("--public-key", metavar="AGE1...", default="", help="of age, for which --keys is encrypted")

    def handle(self, *args: Any, **options: Any) -> None:
        bank = the_one(QuestionBank.objects.all(), options["bank"], "bank")
        folder, keys = (Path(options[name]).resolve() if options[name] else None for name in ("output", "keys"))
        if keys or options["public_key"]:
            recipient_of(options["public_key"])
        _check_places(folder, keys, images=options["images"], is_dry=options["dry_run"])
        if options["again"]:
            there = Release.objects.filter(bank=bank)
            made = there.filter(name=options["name"]).first()
            if made is None:
                names = ", ".join(there.values_list("name", flat=True)) or "none so far"
                raise CommandError(f"There is no release {options['name']!r}. Releases: {names}.", returncode=2)
        else:
            shares = {split: options[split.value] for split in Split}
            how = (options["seed"], options["as_imported"], options["gate"])
            wanted = ReleaseWanted(bank, options["name"], shares, *how)
            if options["dry_run"]:
                plan = plan_release(wanted)
                plan.near = _near_released(plan, quiet=options["verbosity"] == 0)
                self.stdout.write(json.dumps(plan_as_json(plan), indent=1, ensure_ascii=False, default=str))
                return
            made = release(wanted, actor=None, at=timezone.now())
            self.stdout.write(f"{made.questions.count()} questions released as {made.name!r}")
        if folder:
            note_taken(made, actor=None, at=timezone.now())
            with progress_bar("images", MofNCompleteColumn, quiet=not options["images"]) as watch:
                n_images = write_release(
                    *(made, folder),
                    images=options["images"],
                    keys=keys,
                    public_key=options["public_key"],
                    watch=watch,
                )
            self.stdout.write(f"{folder}: {n_images} images")


def _near_released(plan: ReleasePlan, *, quiet: bool) -> NearReleased | None:
    """Compared now, and stored by nobody; None where nothing was released so far."""
    if not Release.objects.exists():
        return None
    from annotation.questionbank.duplicates import find_released  # loads scikit-learn

    with progress_bar("comparing with releases", TaskProgressColumn, quiet=quiet) as watch:
        result, _own, made = find_released(plan.wanted.bank, watch=watch)
    return NearReleased.of(result.as_json(), plan.splits, made, timezone.now())


def _check_places(folder: Path | None, keys: Path | None, *, images: str, is_dry: bool) -> None:
    """Before anything is released, which cannot be taken back. Raises CommandError and ExportRefused."""
    if folder is None:
        for option, given in (("--images", images), ("--keys", keys)):
            if given and not is_dry:
                raise CommandError(f"{option}: name the folder to write with --output.", returncode=2)
        return
    if keys and keys.is_relative_to(folder):
        raise CommandError("--keys: name a file outside of the folder that is given away.", returncode=2)
    if keys and (keys.exists() or not keys.parent.is_dir()):
        raise CommandError("--keys: name a new file, in a folder that exists.", returncode=2)
    check_empty(folder)

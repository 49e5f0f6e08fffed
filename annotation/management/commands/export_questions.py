from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation.enums import QuestionState
from annotation.exports.bank_export import GIVEN_OUT, STAYING_BACK, BankChoice, BankForm, Wordings, export_bank
from annotation.management.base import ActCommand
from annotation.models import QuestionBank
from annotation.site.sentences import the_one

IMAGES = "images"
EVERY = "all"


class Command(ActCommand):
    unchanged = "Nothing was written."
    help = "Write a bank as a folder: its questions, what people changed in them, and a data card."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bank", required=True, help="name or address of the bank")
        parser.add_argument("--form", required=True, choices=BankForm.values())
        parser.add_argument("--output", required=True, metavar="FOLDER", help="a new folder, or an empty one")
        parser.add_argument(
            "--state",
            nargs="+",
            action="extend",
            default=[],
            choices=[*QuestionState.values(), EVERY],
            help=f"only questions in one of these states; {EVERY}: the whole bank "
            f"(without it: all but {', '.join(STAYING_BACK)})",
        )
        parser.add_argument("--revisions", default=Wordings.LATEST.value, choices=Wordings.values())
        parser.add_argument(
            "--images",
            nargs="?",
            const=IMAGES,
            default="",
            metavar="FOLDER",
            help=f"also the images, as PNG: into this new folder, or without a name into {IMAGES}/ in the output",
        )

        parser.add_argument("--only-valid", action="store_true", help="only what passes the gate of the bank")

    def handle(self, *args: Any, **options: Any) -> None:
        bank = the_one(QuestionBank.objects.all(), options["bank"], "bank")
        folder, images = Path(options["output"]).resolve(), options["images"]
        choice = BankChoice(
            BankForm(options["form"]),
            tuple(state for state in QuestionState if {state.value, EVERY} & set(options["state"])) or GIVEN_OUT,
            Wordings(options["revisions"]),
            images if images in ("", IMAGES) else str(Path(images).resolve()),
            only_valid=options["only_valid"],
        )
        done = export_bank(bank, choice, folder, actor=None, at=timezone.now())
        self.stdout.write(f"{done.n_questions} questions in {folder / choice.form.file_name}, {done.n_changed} changed")
        if done.n_stayed_back:
            self.stdout.write(f"{done.n_stayed_back} stayed back, by state in {folder / 'card.md'}")
        if done.images:
            self.stdout.write("images: " + ", ".join(f"{n} {what}" for what, n in done.images.items()))

"""manage.py receive_dicom --by ADDRESS: machines send images by DICOM (C-STORE), which come in as uploads do."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _

from annotation.enums import Role
from annotation.ingest.listening import listen
from annotation.ingest.receiving import Receiver
from annotation.management.commands.ingest_images import Command as IngestCommand
from annotation.models import User
from annotation.site.permissions import check_role


class Command(IngestCommand):
    help = (
        "Receive images that machines of REXVQA_DICOM_SENDERS send, until it is stopped. They are taken in by the "
        "worker of the site, REXVQA_DICOM_SILENCE_SECONDS after the last one."
    )
    unchanged = ""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--by", required=True, metavar="EMAIL", help="the coordinator who answers for the images")
        parser.add_argument("--bank", metavar="NAME", help="the bank (name or slug) that the images belong to")

    def handle(self, *args: Any, **options: Any) -> None:
        person = User.objects.filter(email=options["by"].lower(), is_active=True).first()
        if person is None:
            raise CommandError(
                _("Nobody of this address may log in: %(address)s") % {"address": options["by"]}, returncode=2
            )
        check_role(person, (Role.COORDINATOR, Role.ADMINISTRATOR))
        if not settings.DICOM_SENDERS:
            raise CommandError(
                _("No sender is allowed yet: name machines as TITLE=address in REXVQA_DICOM_SENDERS."), returncode=2
            )
        receiver = Receiver(person, self._bank(options["bank"]))
        server = listen(receiver.keep, settings.DICOM_SENDERS)
        if options["verbosity"]:
            place = f"{settings.DICOM_TITLE}@{settings.DICOM_BIND}:{settings.DICOM_PORT}"
            self.stdout.write(_("Receiving as %(place)s; Ctrl-C ends it.") % {"place": place})
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
        server.shutdown()

"""Whether program, home, database and images belong together, looked at before a site or a worker starts."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.files.base import ContentFile
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.utils.translation import gettext as _

from annotation.audit.recording import lock_log, record
from annotation.hashes import keyed_digest
from annotation.models import AuditEvent
from annotation.site import media
from annotation.site.home_files import BELOW, SiteRefused

NOTED = "site.keys_noted"
APPS = ("annotation", "readerstudy")


def check_program(*, will_migrate: bool) -> None:
    """Raises SiteRefused where a newer program has changed the tables, or where changes of them are still to come."""
    applied = MigrationRecorder(connection).applied_migrations()
    for app in APPS:
        folder = Path(apps.get_app_config(app).path) / "migrations"
        names = {path.stem for path in folder.glob("0*.py")}
        done = {name for label, name in applied if label == app}
        if newer := sorted(name for name in done if name[:4] > max(names)[:4]):
            sentence = _("A newer program has changed this database (%(name)s of %(app)s). Start that one, or a newer.")
            raise SiteRefused("newer_database", sentence % {"name": newer[-1], "app": app})
        if not will_migrate and (missing := sorted(names - done)):
            sentence = _("This database waits for changes (%(name)s of %(app)s). Run manage.py migrate on one machine.")
            raise SiteRefused("not_migrated", sentence % {"name": missing[0], "app": app})


@transaction.atomic
def check_keys(*, at: datetime, takes_them: bool = False) -> None:
    """Raises SiteRefused where the keys are not those that the first start noted as digests in the audit log.

    With other keys nobody would stay logged in, second factors could not be read, and the same patient, reviewer or
    reading would leave under another name. ``takes_them``: from now on these are the keys.
    """
    keys = {"secret_key": settings.SECRET_KEY, "pseudonym_key": settings.PSEUDONYM_KEY}
    digests = {name: keyed_digest(key.encode(), "key of the site", name).hex()[:16] for name, key in keys.items()}
    lock_log()
    noted = AuditEvent.objects.filter(act=NOTED).order_by("-pk").values_list("facts", flat=True).first()
    others = [name for name, digest in digests.items() if noted and noted.get(name) != digest]
    if others and not takes_them:
        sentence = _(
            "The database belongs to a site with another %(names)s. Bring the key from the home of that site or from "
            "its backup (a file of this name, or REXVQA_SECRET_KEY and REXVQA_PSEUDONYM_KEY), the same everywhere; "
            "or run manage.py serve --take-keys once: everybody is logged out then, and pseudonyms change."
        )
        raise SiteRefused("other_keys", sentence % {"names": " and ".join(others)})
    if others or not noted:
        record(NOTED, actor=None, at=at, facts=digests)


def check_media() -> None:
    """Raises MediaRefused where a place of images cannot be used, or is another site's, which would delete ours."""
    for place in media.places():
        claim(place)
        if not isinstance(place, media.Folder) and settings.NODES == 1 and next(place.listed(BELOW), None):
            sentence = _(
                "%(place)s holds files of several machines below home/, which a site on one would leave there. Set "
                "REXVQA_NODES to 2 again; or copy them into the home of this machine, delete them there, and start."
            )
            raise media.MediaRefused("several_machines", sentence % {"place": place})


def claim(place: media.Place) -> None:
    """Mark a bucket as of this site, which writes to it. The first row of the audit log says which site this is.

    Raises MediaRefused.
    """
    if isinstance(place, media.Folder):
        return
    own = AuditEvent.objects.order_by("pk").values_list("sha256", flat=True).first() or ""
    try:
        found = media.read(media.MARK, place).decode()
    except FileNotFoundError:
        found = "" if next(place.entries(), None) else own
    if found != own:
        sentence = _("%(place)s holds the files of another site. Name another bucket or prefix in REXVQA_MEDIA.")
        raise media.MediaRefused("foreign_bucket", sentence % {"place": place})
    place.save(media.MARK, ContentFile(own.encode()))

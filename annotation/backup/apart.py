"""Backups of sites with many images: a night writes the database anew, and of the images what is new.

The folder holds ``media/`` with each file once and, of each backup, a tar file without images beside the list of those
that belong to it: key, bytes and SHA-256 in a line. Everything but the lists, whose keys are drawn at random, can be
encrypted by age for a public key, so that this machine alone cannot read what it wrote.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from django.core.files.base import ContentFile
from django.utils.functional import cached_property
from msgspec import Struct

from annotation.refusals import Refused
from annotation.site import media
from annotation.site.media import Folder, StoredFile

Report = Callable[[int, int], None]
AGE = b"age-encryption.org/"  # how what age encrypted begins
LIST, TAR = ".files", ".tar"
NAMES = "media.files"  # the same list in a backup that holds its images


class BackupRefused(Refused):
    """A backup cannot be written or put back; the sentence says why."""


class KeptImage(Struct, frozen=True):
    key: str
    n_bytes: int
    sha256: str

    @classmethod
    def all_of(cls, lists: Iterable[Path]) -> dict[str, KeptImage]:
        lines = (line.split() for path in lists for line in path.read_text(encoding="ascii").splitlines())
        return {key: cls(key, int(n_bytes), sha256) for key, n_bytes, sha256 in lines}


class Encryption:
    """To the public key of age that is set, if one is; back by the file with its identity. Raises BackupRefused."""

    def __init__(self, public_key: str = "", identity: Path | None = None) -> None:
        self.public_key, self.identity = public_key, identity

    @cached_property
    def recipients(self) -> list[Any]:
        from pyrage import RecipientError, x25519  # not at every start

        try:
            return [x25519.Recipient.from_str(self.public_key)] if self.public_key else []
        except RecipientError:
            sentence = "REXVQA_BACKUP_KEY is no public key of age: it begins with age1, and age-keygen makes one"
            raise BackupRefused("public_key", sentence) from None

    @cached_property
    def identities(self) -> list[Any]:
        from pyrage import IdentityError, x25519

        if self.identity is None:
            sentence = "the backup is encrypted: name the file with its identity (AGE-SECRET-KEY-...) by --identity"
            raise BackupRefused("no_identity", sentence)
        try:
            lines = self.identity.read_text(encoding="utf-8").split()
            return [x25519.Identity.from_str(line) for line in lines if line.startswith("AGE-SECRET-KEY-")]
        except (OSError, ValueError, IdentityError) as error:
            raise BackupRefused("identity", f"{self.identity} cannot be read as identities of age: {error}") from None

    def sealed(self, data: bytes) -> bytes:
        from pyrage import encrypt

        return bytes(encrypt(data, self.recipients)) if self.recipients else data

    def seal(self, plain: Path, target: Path) -> None:
        from pyrage import encrypt_file

        encrypt_file(str(plain), str(target), self.recipients)

    def opened(self, data: bytes, name: str) -> bytes:
        from pyrage import DecryptError, decrypt

        try:
            return bytes(decrypt(data, self.identities)) if data.startswith(AGE) else data
        except DecryptError:
            sentence = f"holds an image that is damaged, or encrypted for another identity: {name}"
            raise BackupRefused("not_for_identity", sentence) from None

    def open(self, source: Path, folder: Path) -> Path:
        """The backup as a tar file: itself, or decrypted into the folder."""
        from pyrage import DecryptError, decrypt_file

        with source.open("rb") as file:
            if file.read(len(AGE)) != AGE:
                return source
        plain = folder / "backup.tar"
        try:
            decrypt_file(str(source), str(plain), self.identities)
        except DecryptError as error:
            raise BackupRefused("not_for_identity", f"the identity does not open {source}: {error}") from None
        return plain


def list_of(backup: Path) -> Path:
    return backup.with_name(backup.name.partition(TAR)[0] + LIST)


def copy_new(backup: Path, encryption: Encryption, report: Report) -> tuple[bytes, int, int]:
    """Have every stored file in ``media/`` beside the backup; returns the list of them, how many and how many bytes.

    Files never change under their name: one that a list names and that is there is not read again, unless it is plain
    and a key is set now, or the other way round.
    """
    target, kept = _store_of(backup), KeptImage.all_of(backup.parent.glob(f"*{LIST}"))
    there, listed = {entry.key: entry.n_bytes for entry in target.entries()}, list[KeptImage]()
    is_plain = not encryption.recipients

    def copy(entry: StoredFile) -> None:
        one = kept.get(entry.key)
        n_there = there.get(entry.key)  # age makes them longer
        if one is None or n_there is None or one.n_bytes != entry.n_bytes or (n_there == entry.n_bytes) != is_plain:
            try:
                data = media.read(entry.key)
            except FileNotFoundError:  # removed meanwhile, as people may ask
                return
            one = KeptImage(entry.key, len(data), hashlib.sha256(data).hexdigest())
            target.save(entry.key, ContentFile(encryption.sealed(data)))
        listed.append(one)

    media.each(copy, list(media.entries()), report)
    return lines_of(listed), len(listed), sum(one.n_bytes for one in listed)


def lines_of(listed: list[KeptImage]) -> bytes:
    return "".join(sorted(f"{one.key} {one.n_bytes} {one.sha256}\n" for one in listed)).encode()


def images_of(backup: Path, sha256: str, folder: Path, encryption: Encryption) -> None:
    """Hold each image of an unpacked backup against its hash, and put those there that stand beside it.

    Raises BackupRefused.
    """
    is_apart = not (folder / NAMES).exists()
    names, source = (list_of(backup), _store_of(backup)) if is_apart else (folder / NAMES, Folder(folder / "media"))
    if not names.is_file() or hashlib.sha256(names.read_bytes()).hexdigest() != sha256:
        raise BackupRefused("not_a_backup", f"stands without its list of images: {names.name} is missing or another")
    for one in KeptImage.all_of([names]).values():
        name = f"media/{one.key}"
        try:
            data = encryption.opened(media.read(one.key, source), name)
        except FileNotFoundError:
            raise BackupRefused("not_a_backup", f"lacks an image: {name} is not there") from None
        if hashlib.sha256(data).hexdigest() != one.sha256:
            raise BackupRefused("not_a_backup", f"holds a damaged image: {name}")
        if is_apart:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.write_bytes(data)


def keep_newest(folder: Path, n: int) -> int:
    """Delete all but so many backups with the images that no kept one names; returns how many backups went."""
    backups = sorted((path for path in folder.glob(f"reading-room-*{TAR}*") if list_of(path).exists()), reverse=True)
    for path in backups[n:]:
        path.unlink()
        list_of(path).unlink()
    if backups[n:]:
        named = KeptImage.all_of(folder.glob(f"*{LIST}"))
        store = Folder(folder / "media")
        for entry in list(store.entries()):
            if entry.key not in named:
                store.delete(entry.key)
    return len(backups[n:])


def _store_of(backup: Path) -> Folder:
    return Folder(backup.parent / "media")

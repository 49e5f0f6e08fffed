"""Listens for DICOM: C-ECHO, and C-STORE of radiographs, from the machines that the settings name and no others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from ipaddress import ip_address

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from pynetdicom import AE, ALL_TRANSFER_SYNTAXES, _config, evt
from pynetdicom.dimse_primitives import C_STORE
from pynetdicom.transport import ThreadedAssociationServer

from annotation.imaging.kernels.attributes import CR, DX_PRESENTATION, DX_PROCESSING
from annotation.imaging.kernels.deidentification import SECONDARY_CAPTURE
from annotation.ingest.kernels.dicomweb import Sender

log = logging.getLogger(__name__)

Keep = Callable[[bytes, str, str], None]  # file, SOP Instance UID, title of the sender; raises where it is not kept

VERIFICATION = "1.2.840.10008.1.1"
TAKEN = (CR, DX_PRESENTATION, DX_PROCESSING, SECONDARY_CAPTURE)
KEPT, OUT_OF_RESOURCES = 0x0000, 0xA700
NOT_KNOWN = (0x01, 0x01, 0x03)  # rejected for good, by the user of the service: calling AE title not recognised
MOST_SENDERS = 8  # at the same time; each has one image in memory


def listen(keep: Keep, senders: Sequence[Sender]) -> ThreadedAssociationServer:
    """A server that runs in threads until its ``shutdown``. Raises OSError where its port is taken."""
    _config.LOG_HANDLER_LEVEL = "none"  # it would write values of headers
    entity = AE(settings.DICOM_TITLE)
    entity.require_called_aet = True
    entity.maximum_associations = MOST_SENDERS
    entity.add_supported_context(VERIFICATION)
    for kind in TAKEN:
        entity.add_supported_context(kind, ALL_TRANSFER_SYNTAXES)
    server = entity.start_server(
        (settings.DICOM_BIND, settings.DICOM_PORT),
        block=False,
        evt_handlers=[(evt.EVT_REQUESTED, _admit, [senders]), (evt.EVT_C_STORE, _keep, [keep])],
    )
    assert server is not None  # it is for one that blocks
    return server


def _admit(event: evt.Event, senders: Sequence[Sender]) -> None:
    request, address = event.assoc.requestor.primitive, ip_address(event.assoc.requestor.address)
    title, called = (request.calling_ae_title, request.called_ae_title) if request else ("", "")
    if not any(title == one.title and address in one.network for one in senders):
        log.warning("a sender was turned away: %r at %s is not in REXVQA_DICOM_SENDERS", title, address)
        event.assoc.acse.send_reject(*NOT_KNOWN)
        event.assoc.kill()
    elif called != settings.DICOM_TITLE:  # pynetdicom refuses it, and its log is off
        ours = settings.DICOM_TITLE
        log.warning("a sender was turned away: %r at %s called %r, and this site is %r", title, address, called, ours)


def _keep(event: evt.Event, keep: Keep) -> int:
    """Anything but KEPT, and the sender sends it again."""
    assert isinstance(event.request, C_STORE)
    title, uid = event.assoc.requestor.ae_title, str(event.request.AffectedSOPInstanceUID)
    try:
        keep(event.encoded_dataset(), uid, title)
    except (OSError, DatabaseError, InterfaceError) as error:
        log.warning("an image could not be kept, which its sender was told: %s", type(error).__name__)
        return OUT_OF_RESOURCES
    finally:
        connection.close()  # that of this sender's thread; and one that broke is not used again
    return KEPT

"""Why a file does not come in: one stable code and one plain sentence for each reason.

The sentence is fixed text. Nothing of the file is ever put into it, so that no refusal can carry a
name or a number into a page, a log or an audit row.
"""

from __future__ import annotations

from annotation.refusals import Refused


def _(sentence: str) -> str:
    """Mark a sentence for translation; the act that shows it translates."""
    return sentence


SENTENCES: dict[str, str] = {
    "empty": _("The file is empty."),
    "too_large": _("The file is larger than this site accepts."),
    "format": _("This is not a DICOM, PNG or JPEG file."),
    "malformed": _("The file is not built as its format asks; it is damaged or was changed."),
    "truncated": _("The file ends too early; a part of the image is missing."),
    "too_deep": _("The file nests sequences deeper than 32 levels."),
    "too_many_elements": _("The file holds more elements than a radiograph can need."),
    "duplicate_element": _("The file holds the same element twice, so that its content is ambiguous."),
    "inflates_too_much": _("The compressed content grows far beyond the size of a radiograph."),
    "no_transfer_syntax": _("The file does not say how it is encoded (Transfer Syntax UID is missing)."),
    "transfer_syntax": _("The transfer syntax of this file is not one that can be read here."),
    "not_an_image": _("The DICOM object holds no image."),
    "modality": _("Only CR, DX and secondary captures are taken; this object is of another kind."),
    "uid": _("An identifier (UID) is missing or is not a valid UID."),
    "frames": _("The object holds several frames; only single images are taken."),
    "samples": _("The image is in colour; DICOM images must have one grey sample per pixel."),
    "photometric": _("Photometric Interpretation is missing or is neither MONOCHROME1 nor MONOCHROME2."),
    "size": _("The image has no rows, no columns, or more than 40 million pixels."),
    "bits": _("The stored bits per pixel are not those of a grey image of 8 to 16 bits."),
    "signed": _("The file says that its pixels are signed, and they are not."),
    "pixel_length": _("The pixel data does not have the length that rows, columns and bits ask for."),
    "codestream": _("The compressed image inside does not agree with what the file says about it."),
    "undecodable": _("The compressed image cannot be decoded completely."),
    "lookup_table": _("A look-up table of the file is damaged or does not fit its pixels."),
    "transparent": _("The image has transparent parts; a radiograph has none."),
    "colour_space": _("The colour space of this image is not grey or RGB."),
    "same_uid": _("An image with the same SOP Instance UID and other pixels came in before."),
    "same_path": _("Another image came in from this path before; an image is never replaced."),
    "link": _("This is a link; only real files are read."),
    "unreadable": _("The file cannot be read."),
    "archive": _("The ZIP file is damaged."),
    "archive_encrypted": _("The ZIP file is encrypted."),
    "archive_path": _("The ZIP file holds a path that leads out of it, or a link."),
    "archive_duplicate": _("The ZIP file holds two members of the same name."),
    "archive_size": _("The ZIP file holds too many files, or grows far beyond the size of radiographs."),
    "archive_member": _("A member of the ZIP file is refused, so nothing of the ZIP file was stored."),
    "archive_empty": _("The ZIP file holds no image."),
    "decoder_died": _("Decoding this file took more memory than is allowed, or ended unexpectedly."),
    "timeout": _("Decoding this file took longer than is allowed."),
}


WARNINGS: dict[str, str] = {
    "no_header": _("The file has no DICOM header; the usual encoding was assumed."),
    "body_part": _("The body part given is not the chest."),
    "for_processing": _("The image is raw detector data, not meant for viewing."),
    "window": _("The window of the file cannot be used; a window was made from the pixels."),
    "rescale": _("The rescale values of the file cannot be used and were left out."),
    "voi_lut": _("The VOI look-up table of the file cannot be used and was left out."),
    "lossy": _("The image was compressed with loss before it came in."),
    "colour": _("The image was in colour and is shown in grey."),
    "turned": _("The image was turned as its camera note asks."),
    "small": _("The image is too small to be judged."),
}


class ImageRefused(Refused):
    """A file that stays outside. `code` is one of SENTENCES."""

    def __init__(self, code: str) -> None:
        super().__init__(code, SENTENCES[code], status=422)

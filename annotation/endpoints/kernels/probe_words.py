"""What a probe asks, and what it can find. Pure."""

from __future__ import annotations

from annotation.enums import Word, _


class ProbeQuestion(Word):
    """What a probe of a model at an endpoint finds out, in the order in which it is shown."""

    OFFERED = "offered", _("Offers this model")
    TEXT = "text", _("Answers a short text")
    IMAGE = "image", _("Takes an image")
    SECOND_IMAGE = "second_image", _("Takes a second image")
    IMAGE_SIZE = "image_size", _("Counts more tokens for a larger image")
    LONG_PROMPT = "long_prompt", _("Takes a long prompt whole")
    SCHEMA = "schema", _("Keeps to a JSON schema")
    SEED = "seed", _("Accepts a seed")
    LOGPROBS = "logprobs", _("Gives log-probabilities")
    USAGE = "usage", _("Counts tokens")
    EQUAL = "equal", _("Answers equal requests equally")


class ProbeAnswer(Word):
    YES = "yes", _("yes")
    NO = "no", _("no")
    UNKNOWN = "unknown", _("unknown")  # the endpoint failed, or does not say what would show it

"""Closed vocabularies of models at work: endpoints, prompts, calls, and what is made of reports. Pure, too."""

from __future__ import annotations

from annotation.enums import Word, _


class Ending(Word):
    """How one exchange with a model endpoint ended."""

    ANSWERED = "answered", _("answered")  # a whole JSON document with status 2xx; what it says is another matter
    REDIRECT = "redirect", _("redirect refused")
    TOO_LARGE = "too_large", _("answer too large")
    TIMED_OUT = "timed_out", _("timed out")
    CONNECTION_FAILED = "connection_failed", _("connection failed")
    HTTP_ERROR = "http_error", _("error status")
    NOT_JSON = "not_json", _("answer is not JSON")


class ProbeQuestion(Word):
    """What a probe of a model at an endpoint finds out, in the order in which it is shown."""

    TEXT = "text", _("Answers a short text")
    USAGE = "usage", _("Counts tokens")
    SCHEMA = "schema", _("Keeps to a JSON schema")
    IMAGE = "image", _("Takes an image")
    LONG_PROMPT = "long_prompt", _("Takes a long prompt whole")
    LISTED = "listed", _("Is listed by the endpoint")

    @classmethod
    def label_of(cls, code: str) -> str:
        """Also of a question that only earlier versions asked."""
        return next((one.label for one in cls if one == code), code.replace("_", " ").capitalize())


class ProbeAnswer(Word):
    YES = "yes", _("yes")
    NO = "no", _("no")
    UNKNOWN = "unknown", _("unknown")  # the endpoint failed, or does not say what would show it


class CallOutcome(Word):
    """What a question to a model came to, before an option is taken from the text; never mixed in counts."""

    ANSWERED = "answered", _("answered")
    REFUSED = "refused", _("refused")
    CUT = "cut", _("cut at the token limit")
    FAILED = "failed", _("no option found")  # failed extraction: an answer that names none
    TWO = "two", _("two answers")  # failed extraction as well: it names more than one
    BROKEN = "broken", _("broken answer")  # by the server, such as one without text: never counted as wrong
    REJECTED = "rejected", _("refused by the endpoint")  # the request itself, for good: never counted as wrong
    NOT_ASKED = "not_asked", _("not asked")  # not yet, or the connection failed: never counted as wrong


NO_ANSWER = (CallOutcome.NOT_ASKED, CallOutcome.REJECTED)  # nothing came back that a later attempt may not replace
OF_SERVER = (*NO_ANSWER, CallOutcome.BROKEN)  # says nothing of the model: its questions are missing in tables


class EndpointPlace(Word):
    """Where the server of an endpoint is, as whoever runs this one says."""

    MACHINE = "machine", _("this machine")
    NETWORK = "network", _("our network")
    OUTSIDE = "outside", _("outside")


class PermissionState(Word):
    """Of a permission to send something of a bank to an endpoint."""

    IN_FORCE = "in_force", _("in force")
    EXPIRED = "expired", _("expired")
    WITHDRAWN = "withdrawn", _("withdrawn")


class PromptPurpose(Word):
    ANSWER = "answer", _("answer questions")
    BULLETS = "bullets", _("take findings from a report")
    QUESTIONS = "questions", _("write questions")
    CHECK = "check", _("check questions")


class SentImages(Word):
    """Which images of the exam a model gets with a question."""

    ALL = "all", _("all images")
    FIRST = "first", _("first image")
    NONE = "none", _("no image")
    BLANK = "blank", _("blank images")  # of the same sizes, with nothing on them
    SWAPPED = "swapped", _("images of another patient")  # with the same views


WITH_IMAGES_OF_PEOPLE = (SentImages.ALL, SentImages.FIRST, SentImages.SWAPPED)  # a blank image shows nobody


class BatchState(Word):
    """Of the calls of a model that belong together."""

    PLANNED = "planned", _("planned")
    TRYING = "trying", _("asking the first questions")  # for the estimate
    RUNNING = "running", _("running")
    PAUSED = "paused", _("paused")
    STOPPED = "stopped", _("stopped")  # for good: what was answered stays
    COMPLETE = "complete", _("complete")  # every call has an answer of the model


class Polarity(Word):
    """What a report says of a finding."""

    PRESENT = "present", _("stated as present")
    ABSENT = "absent", _("stated as absent")


class ReportSource(Word):
    """Where the reports come from that questions are made of."""

    BANK = "bank", _("exams of the bank")
    CHOSEN = "chosen", _("chosen exams of the bank")
    FILE = "file", _("a file")
    PASTED = "pasted", _("pasted text")  # or what a program sent

"""Closed vocabularies of reader studies: stored as the value, shown as the label. Pure, so kernels may use them."""

from __future__ import annotations

from annotation.enums import Word, _


class StudyState(Word):
    DRAFT = "draft", _("draft")
    FROZEN = "frozen", _("frozen")  # text, images, orders and keys are fixed; nobody reads yet
    OPEN = "open", _("open")
    CLOSED = "closed", _("closed")
    ANALYSED = "analysed", _("analysed")


OVER = (StudyState.CLOSED, StudyState.ANALYSED)


class Block(Word):
    PRACTICE = "practice", _("practice")  # with feedback, never in the results
    MAIN = "main", _("main")


class Information(Word):
    """What an arm shows beside the images and the question."""

    NONE = "none", _("nothing")
    AGE_SEX = "age_sex", _("age and sex")
    INDICATION = "indication", _("age, sex and indication")


class Aid(Word):
    NONE = "none", _("unaided")
    MODEL = "model", _("with a model's answer")


class ResponseState(Word):
    """How a reading ended; docs/glossary.md says what each counts for."""

    ANSWERED = "answered", _("answered")
    DECLINED = "declined", _("cannot tell")
    TIMED_OUT = "timed_out", _("time ended without a choice")
    LATE = "late", _("after the limit")
    UNCONFIRMED = "unconfirmed", _("time ended, the choice was saved but not confirmed")
    MISSING = "missing", _("missing")  # an image could not be read, a technical fault, never reached


class RemarkKind(Word):
    """What a reader says about a case beside the answer."""

    GUESS = "guess", _("best guess after “cannot tell”")
    CONFIDENCE = "confidence", _("chance of being right, %")
    SLIP = "slip", _("input error: another option was meant")
    FAULT = "fault", _("problem with the case")


class Refusal(Word):
    """Why an answer that arrived is not the answer of its reading."""

    OTHER_ANSWER = "other_answer", _("another answer is stored already")
    NOT_THE_WRITER = "not_the_writer", _("reading continues on another device")
    STUDY_CLOSED = "study_closed", _("the study is closed")
    DEADLINE_PASSED = "deadline_passed", _("the time for reading has passed")
    WITHDRAWN = "withdrawn", _("the reader has left the study")
    KEYS_AT_HAND = "keys_at_hand", _("the reader holds a role with which the answers can be looked up")


class SessionEnd(Word):
    FINISHED = "finished", _("finished")
    LEFT = "left", _("left")
    TAKEN_OVER = "taken_over", _("taken over by another page")
    LAPSED = "lapsed", _("connection lost")


class EntryState(Word):
    """The state of a model entry; only listed ones are in figures."""

    LISTED = "listed", _("listed")
    REPLACED = "replaced", _("replaced")
    WITHDRAWN = "withdrawn", _("withdrawn")


class PredictionForm(Word):
    """How predictions come; readerstudy/predictions/kernels/records.py reads the forms of files."""

    SUBMISSION = "submission", _("leaderboard submission")
    RESULTS = "results", _("results of the leaderboard script")
    DIRECT = "direct", _("direct prompt log")
    HARNESS = "harness", _("sample log of a harness")
    AGENT = "agent", _("agent log")
    TABLE = "table", _("table (CSV, TSV, XLSX)")
    COUNTED = "counted", _("log or table that counts its questions from 0")  # only where a person says so
    RUN = "run", _("run on this site")  # no file


FILE_FORMS = tuple(form for form in PredictionForm if form != PredictionForm.RUN)


class PredictionState(Word):
    """A question that a file leaves out has no prediction: it is missing."""

    ANSWERED = "answered", _("answered")
    FAILED = "failed", _("no option could be taken")  # counts as wrong, and is never dropped


# --- leaderboards ---------------------------------------------------------------------------------
class BenchmarkState(Word):
    DRAFT = "draft", _("draft")
    FROZEN = "frozen", _("frozen")  # questions, keys, rules and dates are fixed; teams send submissions
    CLOSED = "closed", _("closed")  # no further submission or edition; what was published stays


class TeamState(Word):
    ASKED = "asked", _("waits for approval")
    APPROVED = "approved", _("approved")
    REFUSED = "refused", _("refused")


class SubmissionWay(Word):
    """How the answers of a submission came about."""

    FILE = "file", _("file of the team")
    HERE = "here", _("run here")  # through an endpoint of this site
    TEAM_ENDPOINT = "endpoint", _("run here through the team's endpoint")


class SubmissionState(Word):
    """Read from its times: each is later than the one before; withdrawn can follow on any."""

    RECEIVED = "received", _("received")
    FAILED = "failed", _("check not passed")
    CHECKED = "checked", _("check passed")
    NAMED = "named", _("named for an edition")
    PUBLISHED = "published", _("published")
    WITHDRAWN = "withdrawn", _("withdrawn")

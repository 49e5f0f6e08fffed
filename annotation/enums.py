"""Closed vocabularies: one word per thing, stored as the value, shown as the label. Pure, so kernels may use them."""

from __future__ import annotations

from enum import StrEnum


def _(label: str) -> str:
    """Mark a text for translation: models and pages translate it where it is shown."""
    return label


class Word(StrEnum):
    """A stored value with the label that people read."""

    label: str

    def __new__(cls, value: str, label: str = "") -> Word:
        member = str.__new__(cls, value)
        member._value_ = value
        member.label = label
        return member

    @classmethod
    def values(cls) -> list[str]:
        return [member.value for member in cls]


class Role(Word):
    ADMINISTRATOR = "administrator", _("administrator")
    COORDINATOR = "coordinator", _("coordinator")
    REVIEWER = "reviewer", _("reviewer")
    ADJUDICATOR = "adjudicator", _("adjudicator")
    READER = "reader", _("reader")
    MODEL_SUBMITTER = "model_submitter", _("model submitter")
    DEIDENTIFIER = "deidentifier", _("de-identification")  # may see and release quarantined images


class KeyUse(Word):
    """Which keys that write a character are listened to beside images. Enter, Tab, Esc and arrows always are."""

    ALL = "all", _("digits, letters and signs")
    DIGITS = "digits", _("digits only; letters and signs do nothing")
    NONE = "none", _("none: buttons, Tab, arrows and Enter only")


class LinkState(Word):
    """What a one-time link is good for."""

    OPEN = "open", _("open")
    USED = "used", _("used")
    REVOKED = "revoked", _("revoked")
    EXPIRED = "expired", _("expired")


class Task(Word):
    PRESENCE = "presence", _("Presence")
    NEGATION = "negation", _("Negation")
    DIFFERENTIAL = "differential", _("Differential diagnosis")
    LOCATION = "location", _("Location and distribution")
    GEOMETRIC = "geometric", _("Geometric information")


class Split(Word):
    """As the paper's release is divided; of the private one the answers stay here."""

    TRAIN = "train", _("train")
    VALID = "valid", _("valid")
    TEST = "test", _("test")
    PRIVATE = "private", _("private")


class Difficulty(Word):
    EASY = "easy", _("easy")
    MEDIUM = "medium", _("medium")
    HARD = "hard", _("hard")
    UNKNOWN = "", _("unknown")


class OptionLetter(Word):
    A = "A", "A"
    B = "B", "B"
    C = "C", "C"
    D = "D", "D"


class ViewPosition(Word):
    PA = "PA", _("PA")
    AP = "AP", _("AP")
    LL = "LL", _("left lateral")
    RL = "RL", _("right lateral")
    LATERAL = "lateral", _("lateral")  # side not given; never guessed
    OBLIQUE = "oblique", _("oblique")
    UNKNOWN = "unknown", _("unknown")


class Sex(Word):
    FEMALE = "F", _("female")
    MALE = "M", _("male")
    OTHER = "O", _("other")
    UNKNOWN = "", _("unknown")


class Turn(Word):
    """What is done to the film as it came in."""

    NONE = "", ""
    MIRRORED = "mirrored", _("mirrored left to right")
    UPENDED = "upended", _("mirrored top to bottom")
    HALF = "half", _("turned by 180°")
    RIGHT = "right", _("turned by 90° to the right")
    LEFT = "left", _("turned by 90° to the left")
    RIGHT_MIRRORED = "right_mirrored", _("turned by 90° to the right and mirrored")
    LEFT_MIRRORED = "left_mirrored", _("turned by 90° to the left and mirrored")


class ImageState(Word):
    PENDING = "pending", _("missing")  # named by a question, no pixels so far
    CHECKING = "checking", _("being searched for text")  # pixels are there, nobody sees them
    AVAILABLE = "available", _("available")
    QUARANTINED = "quarantined", _("in quarantine")
    REMOVED = "removed", _("removed")  # a person decided against it; pixels deleted


class RenditionKind(Word):
    PREVIEW = "preview", _("preview")
    FULL = "full", _("full depth")
    FULL_GZIP = "full_gzip", _("full depth, gzip")
    THUMB = "thumb", _("thumbnail")  # made when a list first shows it


class ImportState(Word):
    RUNNING = "running", _("running")
    PUBLISHED = "published", _("published")
    FAILED = "failed", _("failed")  # its rows are swept
    DELETED = "deleted", _("deleted")  # published, and hidden while its bank is in the bin


class IdentifierKind(Word):
    QUESTION_KEY = "question_key", _("question key")
    QUESTION_READ = "question_read", _("question key as people read it")  # where that is another text
    EXAM_KEY = "exam_key", _("exam key")
    PRIOR_EXAM = "prior_exam", _("exam key of the prior exam")
    PATIENT = "patient", _("patient number")
    ACCESSION = "accession", _("accession number")
    STUDY_UID = "study_uid", _("Study Instance UID")
    SOP_UID = "sop_uid", _("SOP Instance UID")
    IMAGE_PATH = "image_path", _("image path")
    STATED_VIEW = "stated_view", _("view that is not understood")


class JobState(Word):
    QUEUED = "queued", _("waiting")
    RUNNING = "running", _("running")
    SUCCEEDED = "succeeded", _("done")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


class JobQueue(Word):
    """Which workers take a job: a site may keep some for each of these."""

    IMAGES = "images", _("images")
    IMPORTS = "imports", _("imports")
    ANALYSIS = "analysis", _("analysis")
    MODELS = "models", _("models")
    MAIL = "mail", _("mail")


SWEEPS = "sweeps"  # the queue of what the site does by itself every few seconds


class ImportKind(Word):
    """How revisions came into a bank."""

    FILE = "file", _("file")
    GENERATED = "generated", _("generated")  # questions that a model wrote from reports, here
    EDITS = "edits", _("edits")  # the one row of a bank that all its edited revisions belong to


class QuestionState(Word):
    """Where a question is in its life; what leads where: annotation/questionbank/kernels/entries.py."""

    IMPORTED = "imported", _("imported")
    IN_REVIEW = "in_review", _("in review")
    ACCEPTED = "accepted", _("accepted")
    NEEDS_REVISION = "needs_revision", _("needs revision")
    REJECTED = "rejected", _("rejected")
    DISPUTED = "disputed", _("disputed")
    REVISED = "revised", _("revised")
    WITHDRAWN = "withdrawn", _("withdrawn")


class HistoryKind(Word):
    """What the history of a question tells of."""

    WORDING = "wording", _("wording")  # imported, or revised by hand
    CHECK = "check", _("checks")
    STATE = "state", _("withdrawn or brought back")
    SAMPLE = "sample", _("samples")
    REVIEW = "review", _("rounds and reviews")
    SETTLED = "settled", _("settled or decided")
    COMMENT = "comment", _("comments")
    TAG = "tag", _("tags")
    STUDY = "study", _("reader studies")
    MODEL = "model", _("models")


class RoundState(Word):
    DRAFT = "draft", _("draft")
    OPEN = "open", _("open")
    COMPLETE = "complete", _("independent review complete")  # reviews are final, and settled where they agree
    ADJUDICATION = "adjudication", _("adjudication")
    CLOSED = "closed", _("closed")


# From here on no review of a round changes.
FINAL_STATES = (RoundState.COMPLETE, RoundState.ADJUDICATION, RoundState.CLOSED)


class RoundSteps(Word):
    FULL = "full", _("blind answer, judgement, report")
    OPEN = "open", _("judgement only")


class ViewerTool(Word):
    """What a round can do without at its images; the names are those of the viewer."""

    PRESETS = "presets", _("window presets and the scanner's windows")
    WINDOW = "window", _("window by dragging")
    INVERT = "invert", _("invert")
    FLIP = "flip", _("flip left to right")
    ZOOM = "zoom", _("zoom, pan, 1:1")
    LINK = "link", _("linked views")
    LINE = "line", _("line")
    RATIO = "ratio", _("cardiothoracic ratio")
    LAYOUT = "layout", _("layout: all views, two, one")
    WIDE = "wide", _("full screen")


# The smallest browser windows that a round or a study can ask for, in CSS pixels: below the first pair a demand says
# nothing, above the second no ordinary screen can meet it.
LEAST_WINDOW, MOST_WINDOW = (640, 400), (3840, 2160)

PAPER_FORM = "paper-1"  # the review form of the paper; forms of one's own have a name and a version
EXPLANATIONS = "explanations-1"  # rule of a sample of explanations that models gave, see readerstudy/predictions


class AssignmentState(Word):
    WAITING = "waiting", _("waiting")
    ANSWERED = "answered", _("answered blind")  # step 1 is final, the key is shown
    SKIPPED = "skipped", _("skipped, comes back")
    SUBMITTED = "submitted", _("submitted")
    RETURNED = "returned", _("handed back")  # the reviewer must not judge it; it waits for another one
    WITHDRAWN = "withdrawn", _("withdrawn")  # reassigned, or the reviewer left; nothing is deleted


class FindingPlace(Word):
    """Where in a question a check found something. A letter may tell the key."""

    QUESTION = "question", _("whole question")
    STEM = "stem", _("stem")
    A = "A", _("option A")
    B = "B", _("option B")
    C = "C", _("option C")
    D = "D", _("option D")
    EXPLANATION = "explanation", _("explanation")
    REPORT = "report", _("report")


class ReturnReason(Word):
    """Why a reviewer handed a question back."""

    NONE = "", ""
    KNOWS_KEY = "knows_key", _("has seen its key")
    KNOWS_PATIENT = "knows_patient", _("knows the patient")


class KeySource(Word):
    """Where a coordinator saw the key of a question, or what gives it away."""

    QUESTION_PAGE = "question", _("question page")
    REVIEWS = "reviews", _("reviews of a round")
    ROUND_EXPORT = "export", _("export of a round")
    BANK_EXPORT = "bank_export", _("export of a bank")
    QUESTION_FILE = "question_file", _("first rows of a question file")
    STUDY = "study", _("pages or files of a study")
    REPORTS = "reports", _("reports held back from a model")
    RAW_ANSWERS = "raw_answers", _("raw answers of a model")  # a row for each question on the exam that was asked
    PAIRS = "pairs", _("judged pairs")  # stem and options, not the key


class Verdict(Word):
    ACCEPT = "accept", _("accept")
    REVISE = "revise", _("revise")
    REJECT = "reject", _("reject")
    CANNOT_JUDGE = "cannot_judge", _("cannot judge")


class BindingVerdict(Word):
    """What an adjudicator decides about a question."""

    ACCEPT = "accept", _("accept as it is")
    REVISE = "revise", _("needs revision")
    REJECT = "reject", _("reject")


class Disagreement(Word):
    """What a reviewer says whose blind answer is not the key, once the key and its explanation are shown."""

    NONE = "", ""
    KEY_WRONG = "key_wrong", _("key wrong")
    OWN_ERROR = "own_error", _("I was wrong")
    BOTH = "both", _("both acceptable")


class Degree(Word):
    YES = "yes", _("yes")
    PARTLY = "partly", _("partly")
    NO = "no", _("no")
    CANNOT_JUDGE = "cannot_judge", _("cannot judge")


class GradeName(Word):
    CLINICAL_QUALITY = "clinical_quality", _("Clinical quality")
    FACTUAL_CORRECTNESS = "factual_correctness", _("Factual correctness")
    EXPLANATION_CLARITY = "explanation_clarity", _("Explanation clarity")
    IMAGE_ALIGNMENT = "image_alignment", _("Image alignment")
    QUESTION_QUALITY = "question_quality", _("Question quality")
    CLINICAL_ACCURACY = "clinical_accuracy", _("Clinical accuracy")
    EDUCATIONAL_VALUE = "educational_value", _("Educational value")


class Flag(Word):
    SEVERAL_VALID = "several_valid", _("more than one valid")  # follows from step 1, or from the reason given
    KEY_WRONG = "key_wrong", _("key wrong")  # follows
    NO_VALID_OPTION = "no_valid_option", _("no valid option")  # follows
    NEEDS_PRIOR = "needs_prior", _("needs a prior or other exam")
    HALLUCINATED = "hallucinated", _("states something not in the report")
    NOT_VISIBLE = "not_visible", _("not visible on these images")
    OTHER_EXAM = "other_exam", _("images of another exam or side")
    UNSOUND = "unsound", _("ambiguous or clinically unsound")
    GIVES_AWAY = "gives_away", _("cue in the wording")
    IDENTIFIES = "identifies", _("identifying text visible")
    OTHER = "other", _("other")


class EventKind(Word):
    """What the clock of a case tells; see annotation/case/kernels/durations.py for what is made of it."""

    OPENED = "opened", _("opened")  # written by the server
    PAINTED = "painted", _("painted")  # question and all images on screen in one frame, at full depth
    SELECTED = "selected", _("selected")
    CHANGED = "changed", _("changed")
    HIDDEN = "hidden", _("hidden")
    VISIBLE = "visible", _("visible")
    BLURRED = "blurred", _("blurred")
    FOCUSED = "focused", _("focused")
    PAUSED = "paused", _("paused")
    RESUMED = "resumed", _("resumed")
    ASLEEP = "asleep", _("asleep")  # the page was suspended from here to the next awake, as when the device sleeps
    AWAKE = "awake", _("awake")
    HEARTBEAT = "heartbeat", _("heartbeat")
    QUIET = "quiet", _("quiet")  # no input for a minute
    TRANSLATED = "translated", _("translated")  # the question no longer reads as it was written
    TOOL = "tool", _("tool")  # how often each was used since the last heartbeat
    SUBMITTED = "submitted", _("submitted")

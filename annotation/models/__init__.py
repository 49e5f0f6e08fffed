from annotation.models.audit import AuditEvent
from annotation.models.identifiers import SourceIdentifier
from annotation.models.imaging import AllowedWords, Exam, Image, Rendition, Upload
from annotation.models.jobs import Job, WorkerBeat
from annotation.models.people import Invitation, Membership, User
from annotation.models.question import AnswerKey, BankImport, Question, QuestionBank, Report, Revision, SeenKey
from annotation.models.review import Assignment, BlindAnswer, Review, ReviewDraft, ReviewRound
from annotation.models.sampling import SampledQuestion, SamplingPlan
from annotation.models.timing import ReviewEvent

__all__ = [
    "AllowedWords",
    "AnswerKey",
    "Assignment",
    "AuditEvent",
    "BankImport",
    "BlindAnswer",
    "Exam",
    "Image",
    "Invitation",
    "Job",
    "Membership",
    "Question",
    "QuestionBank",
    "Rendition",
    "Report",
    "Review",
    "ReviewDraft",
    "ReviewEvent",
    "ReviewRound",
    "Revision",
    "SampledQuestion",
    "SamplingPlan",
    "SeenKey",
    "SourceIdentifier",
    "Upload",
    "User",
    "WorkerBeat",
]

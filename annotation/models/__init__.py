from annotation.models.imaging import AllowedWords, Exam, Image, Rendition, SourceIdentifier, Upload
from annotation.models.people import Competence, Invitation, Membership, User
from annotation.models.quality import Finding
from annotation.models.question import AnswerKey, BankImport, Edit, Question, QuestionBank, Report, Revision, SeenKey
from annotation.models.review import (
    Assignment,
    BlindAnswer,
    CalibrationResult,
    Review,
    ReviewDraft,
    ReviewEvent,
    ReviewForm,
    ReviewRound,
    SampledQuestion,
    SamplingPlan,
)
from annotation.models.settlement import Settlement
from annotation.models.site import AuditEvent, Job, WorkerBeat

__all__ = [
    "AllowedWords",
    "AnswerKey",
    "Assignment",
    "AuditEvent",
    "BankImport",
    "BlindAnswer",
    "CalibrationResult",
    "Competence",
    "Edit",
    "Exam",
    "Finding",
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
    "ReviewForm",
    "ReviewRound",
    "Revision",
    "SampledQuestion",
    "SamplingPlan",
    "SeenKey",
    "Settlement",
    "SourceIdentifier",
    "Upload",
    "User",
    "WorkerBeat",
]

"""The tables of reader studies."""

from readerstudy.models.analysis import Analysis, AnalysisReport, InputsMark, ModelComparison, ResultsLink
from readerstudy.models.design import Arm, CaseSet, ReaderStudy, ShownImage, StudyCase, StudyRole, Voiding
from readerstudy.models.enrolment import DECLINED, Enrolment, PresentationOrder, PresentedCase, StudyInvitation
from readerstudy.models.predictions import (
    FailureCount,
    FailureCounts,
    ModelEntry,
    ModelRun,
    Prediction,
    PredictionRun,
    PublishedRepeat,
    SubmissionCall,
)
from readerstudy.models.reading import (
    Reading,
    ReadingSession,
    RefusedAnswer,
    Remark,
    Response,
    TimingEvent,
)

__all__ = [
    "DECLINED",
    "Analysis",
    "AnalysisReport",
    "Arm",
    "CaseSet",
    "Enrolment",
    "FailureCount",
    "FailureCounts",
    "InputsMark",
    "ModelComparison",
    "ModelEntry",
    "ModelRun",
    "Prediction",
    "PredictionRun",
    "PresentationOrder",
    "PresentedCase",
    "PublishedRepeat",
    "ReaderStudy",
    "Reading",
    "ReadingSession",
    "RefusedAnswer",
    "Remark",
    "Response",
    "ResultsLink",
    "ShownImage",
    "StudyCase",
    "StudyInvitation",
    "StudyRole",
    "SubmissionCall",
    "TimingEvent",
    "Voiding",
]

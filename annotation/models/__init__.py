from annotation.models.calls import CallAttempt, CallBatch, EndpointLease, ModelCall, ModelPicture
from annotation.models.discussion import Mention, QuestionComment, QuestionTag
from annotation.models.diversity import Embedding, JudgedPair, PairJudgement, PairTrial, QuestionVector
from annotation.models.endpoints import EndpointProbe, Price, PromptVersion, SendingPermission
from annotation.models.generation import Bullet, GenerationReport, GenerationRun
from annotation.models.imaging import AllowedWords, Exam, Image, Rendition, SourceIdentifier, Upload
from annotation.models.people import Competence, Invitation, Membership, User
from annotation.models.programs import AccessToken, KeptAnswer
from annotation.models.quality import Finding, ValidatorRun
from annotation.models.question import (
    AnswerKey,
    BankImport,
    ColumnMatching,
    Edit,
    Question,
    QuestionBank,
    Report,
    Revision,
    SeenKey,
)
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
from annotation.models.webhooks import WebhookCursor, WebhookDelivery

__all__ = [
    "AccessToken",
    "AllowedWords",
    "AnswerKey",
    "Assignment",
    "AuditEvent",
    "BankImport",
    "BlindAnswer",
    "Bullet",
    "CalibrationResult",
    "CallAttempt",
    "CallBatch",
    "ColumnMatching",
    "Competence",
    "Edit",
    "Embedding",
    "EndpointLease",
    "EndpointProbe",
    "Exam",
    "Finding",
    "GenerationReport",
    "GenerationRun",
    "Image",
    "Invitation",
    "Job",
    "JudgedPair",
    "KeptAnswer",
    "Membership",
    "Mention",
    "ModelCall",
    "ModelPicture",
    "PairJudgement",
    "PairTrial",
    "Price",
    "PromptVersion",
    "Question",
    "QuestionBank",
    "QuestionComment",
    "QuestionTag",
    "QuestionVector",
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
    "SendingPermission",
    "Settlement",
    "SourceIdentifier",
    "Upload",
    "User",
    "ValidatorRun",
    "WebhookCursor",
    "WebhookDelivery",
    "WorkerBeat",
]

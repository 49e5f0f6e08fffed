"""The tables of reader studies."""

from readerstudy.models.design import (
    Analysis,
    AnalysisReport,
    Arm,
    CaseSet,
    InputsMark,
    ModelComparison,
    ReaderStudy,
    ResultsLink,
    ShownImage,
    StudyCase,
    StudyRole,
    Voiding,
)
from readerstudy.models.leaderboard import (
    Benchmark,
    BenchmarkQuestion,
    BenchmarkVersion,
    BoardNote,
    Edition,
    EditionEntry,
    EditionResult,
    PublishedNumber,
    Statement,
    Submission,
    Team,
    TeamMember,
)
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
    DECLINED,
    READERS_DRAWN,
    Enrolment,
    PresentationOrder,
    PresentedCase,
    Reading,
    ReadingSession,
    RefusedAnswer,
    Remark,
    Response,
    StudyInvitation,
    TimingEvent,
)

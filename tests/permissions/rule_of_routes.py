"""Which rule decides at which address, where its view does not say it by a role of the site alone."""

from __future__ import annotations

from typing import Any

from annotation.acts import Act
from annotation.acts.banks import JobAct
from annotation.acts.rounds import ActOnRound
from readerstudy.acts.leaderboards import (
    BenchmarkAct,
    BoardAct,
    EditionAct,
    MemberAct,
    NameSubmission,
    StatementAct,
    TeamAct,
    WithdrawSubmission,
)
from readerstudy.acts.models import ModelRunAct, RunAct
from readerstudy.acts.studies import LinkAct, ReaderAct, StudyAct
from rexvqa_site.management.commands.act import ACTS
from tests.permissions import rules
from tests.permissions.rules import Rule


def _each(rule: Rule, names: str) -> dict[str, Rule]:
    return dict.fromkeys(names.split(), rule)


def _acts(rule: Rule, kind: type[Act[Any]]) -> dict[str, Rule]:
    """Of declared acts of this kind, whose ``find`` the rule asks: on their page and in the API."""
    acts = [act for act in ACTS.values() if issubclass(act, kind)]
    return {name: rule for act in acts for name in (act.name, f"api-{act.name}")}


OWN = Rule("What is one's own: everybody who is logged in", rules.ROLE.asks)

RULES: dict[str, Rule] = {
    **_each(
        OWN,
        "home review-rounds profile own-data token-new email-ask email-confirm open-sessions sessions-end-others "
        "provider-connect provider-disconnect account_reauthenticate mfa_reauthenticate mfa_reauthenticate_webauthn "
        "mfa_index mfa_activate_totp mfa_deactivate_totp mfa_add_webauthn mfa_remove_webauthn "
        "mfa_view_recovery_codes mfa_generate_recovery_codes password-change audit-log mentions about-api "
        "about-api-document jobs readings api-me api-jobs",
    ),
    **_each(rules.TOKEN, "token-revoke"),
    **_each(rules.SESSION, "session-end"),
    # reviewing
    **_each(rules.WORKLIST, "review-worklist review-continue"),
    **_each(rules.DECISIONS, "review-decisions"),
    **_each(rules.CALIBRATION, "calibration"),
    **_each(rules.CASE, "review-case review-display review-report review-categories review-identifies"),
    **_each(
        rules.CASE_ACT, "review-answer review-draft review-events review-submit review-skip review-slip review-return"
    ),
    **_each(rules.OWN_COMMENTS, "review-comments"),
    **_each(rules.DISCUSSION, "comment-add comment-withdraw comment-done"),
    **_each(rules.COMMENTS, "api-question-comments api-comment-withdraw api-comment-done"),
    **_each(rules.IMAGE, "rendition thumbnail"),
    # rounds
    **_each(rules.ROUNDS, "rounds api-rounds"),
    **_each(rules.ROUND_COST, "round-cost"),
    **_acts(rules.COORDINATED_ROUND, ActOnRound),
    **_each(
        rules.COORDINATED_ROUND,
        "round-edit calibration-let-in round-reviewer-add round-reviewer round-reviewer-remove round-reassign "
        "round-codebook round-adjudicator-add round-fresh api-round-assignments api-round-edit api-round-fresh "
        "api-round-let-in api-round-reviewer-remove api-round-reassign api-round-adjudicators",
    ),
    **_each(
        rules.SEEN_ROUND,
        "round-export round-figure round-import round-groups round-difficulty round-agreement round-report "
        "round-report-make round-report-file api-round-reviews api-round-review-rows api-round-import "
        "api-round-report api-round-report-make api-round-report-file",
    ),
    **_each(rules.OVERSEEN_ROUND, "round"),
    **_each(rules.KNOWN_ROUND, "api-round api-round-reviewers api-round-reviewer"),
    **_each(rules.INVITED_ROUND, "round-invite round-invite-file api-round-invitations api-round-invitation-revoke"),
    **_each(rules.INVITATION, "invitation-resend invitation-revoke invitation-restore"),
    **_each(rules.ADJUDICATED, "adjudication adjudication-next"),
    **_each(rules.ADJUDICATED_CASE, "adjudication-question"),
    **_each(rules.SETTLED, "adjudication-decide adjudication-revise"),
    **_each(rules.PAIRS, "pair-trial pair-judge"),
    **_each(rules.BANK_OUTCOMES, "bank-outcomes bank-groups bank-difficulty bank-figure"),
    # studies
    **_each(rules.STUDIES, "studies api-studies"),
    **_acts(rules.COORDINATED_STUDY, StudyAct),
    **_acts(rules.COORDINATED_STUDY, ReaderAct),
    **_acts(rules.COORDINATED_STUDY, LinkAct),
    **_each(
        rules.COORDINATED_STUDY,
        "study-invite study-invite-file study-invitation-remind study-invitation-restore study-invitation-revoke "
        "study-dry-room study-dry-session study-dry-state study-dry-pause study-dry-resume study-dry-case "
        "study-indications study-protocol study-copy study-delete study-interim study-reader study-reader-replace "
        "study-void study-rereview study-analyse study-results "
        "study-import study-data study-codebook study-analysis study-report-file study-report-make api-study-plan "
        "api-study-protocol api-study-freeze api-study-copy api-study-invitations api-study-invitation-revoke "
        "api-study-voidings api-study-import api-study-rereview api-study-reader-replace api-study-invite-file "
        "api-study-invitation-remind api-study-invitation-restore api-study-share-links "
        "api-study-job api-study-analyses api-study-analysis api-study-analysis-result "
        "api-study-reports",
    ),
    **_each(
        rules.OVERSEEN_STUDY,
        "study study-models study-dry-run study-watch api-study api-study-readers api-study-reader",
    ),
    **_each(rules.OVERSEEN_STUDY, "study-cases study-arms study-rules study-readers study-forecast study-freeze"),
    **_each(rules.RESULTS, "study-export api-study-analyse"),
    **_each(rules.SEEN_RESULTS, "api-study-responses api-study-events api-study-export"),
    **_each(
        rules.ANALYSIS,
        "study-analysed study-analysed-stands study-agreement study-pair study-categories study-items study-times "
        "study-figure study-report study-share api-study-figures api-study-figure api-study-report-make "
        "api-study-report-file api-study-share",
    ),
    **_each(
        rules.READER,
        "reading reading-consent reading-consent-copy reading-facts reading-instructions reading-display "
        "reading-done reading-withdraw reading-room reading-session reading-state reading-pause reading-resume "
        "reading-open reading-choice reading-events reading-commit reading-remark",
    ),
    # models
    **_each(rules.MODELS, "models api-models api-prediction-runs"),
    **_each(rules.MODEL_NEW, "model-new"),
    **_each(rules.PREDICTIONS_SENT, "api-prediction-imports"),
    **_each(
        rules.SCORES,
        "models-compare models-compare-file api-models-compare api-models-compare-result api-models-compare-job",
    ),
    **_each(
        rules.COORDINATES,
        "models-compare-start predictions-import predictions-import-store api-models-compare-start",
    ),
    **_each(rules.MODEL, "model model-repeatability api-model"),
    **_each(
        rules.MODEL_ACT,
        "model-edit model-replace model-withdraw api-model-edit api-model-replace api-model-withdraw",
    ),
    **_each(rules.MODEL_LISTED, "prediction-import-new"),
    **_each(
        rules.IMPORT,
        "prediction-import prediction-import-store prediction-import-report api-prediction-import "
        "api-prediction-import-store",
    ),
    **_each(rules.RUN, "prediction-run api-prediction-run"),
    **_acts(rules.RUN_ACT, RunAct),
    **_each(rules.MODEL_RUNS, "model-runs model-run-new api-model-runs"),
    **_each(
        rules.MODEL_RUN,
        "model-run model-run-variants model-run-calls model-run-call model-run-picture api-model-run",
    ),
    **_acts(rules.MODEL_RUN, ModelRunAct),
    # leaderboards
    **_each(rules.KNOWN_BOARD, "leaderboard leaderboard-team api-leaderboard"),
    **_acts(rules.RUN_BOARD, BenchmarkAct),
    **_each(rules.RUN_BOARD, "leaderboard-edit api-leaderboard-edit"),
    **_each(rules.TAKEN_BOARD, "leaderboard-inputs leaderboard-pack api-leaderboard-inputs api-leaderboard-pack"),
    **_each(rules.KNOWN_TEAM, "api-leaderboard-team"),
    **_acts(rules.DECIDED_TEAM, TeamAct),
    **_acts(rules.MEMBERS, MemberAct),
    **_each(rules.BOARD_SENT, "leaderboard-submissions"),
    **_each(rules.KNOWN_BOARD, "api-leaderboard-submissions api-leaderboard-statements"),
    **_each(rules.BOARD_SUBMISSION, "leaderboard-submission leaderboard-report api-leaderboard-submission"),
    **_acts(rules.BOARD_NAMING, NameSubmission),
    **_acts(rules.BOARD_WITHDRAWING, WithdrawSubmission),
    **_each(rules.BOARD_STATEMENT, "leaderboard-statement leaderboard-card api-leaderboard-statement"),
    **_acts(rules.BOARD_STATEMENT, StatementAct),
    **_each(rules.BOARD_SENDING, "leaderboard-statement-new"),
    **_each(rules.LOOKED_ON, "leaderboard-editions"),
    **_each(
        rules.KNOWN_BOARD,
        "api-leaderboard-editions api-leaderboard-edition api-leaderboard-edition-result",
    ),
    **_acts(rules.RUN_BOARD, EditionAct),
    **_acts(rules.RUN_BOARD, BoardAct),
    # everything else
    **_each(rules.BIN, "bin"),
    **_each(rules.RESTORED, "bin-restore"),
    **_each(rules.JOB, "job api-job"),
    **_acts(rules.JOB_ACT, JobAct),
}

# Where sending is for others than looking.
SENDING: dict[str, Rule] = {
    **_each(rules.COORDINATED_STUDY, "study-cases study-arms study-rules study-readers study-forecast study-freeze"),
    **_each(rules.RESULTS, "api-study-export"),
    **_each(rules.BOARD_SENDING, "leaderboard-submissions api-leaderboard-submissions api-leaderboard-statements"),
    **_each(rules.MODEL_NEW, "api-models"),
    **_each(rules.COORDINATED_ROUND, "api-round-reviewers"),
}
SENDING |= {"api-rounds": rules.ROLE, "api-studies": rules.ROLE}

# Who is let in gets 404: the address holds something that is not there in the site of the test.
NOT_THERE = {
    "finding-dismiss": "no finding is named",
    "api-finding-dismiss": "no finding is named",
    "site-webhook-test": "no webhook is set",
    "site-webhook-again": "no webhook is set",
    "api-bank-job": "no job of the bank is there",
    "api-bank-change": "nobody changed many questions",
    "api-bank-change-undo": "nobody changed many questions",
    "api-import": "a file that was checked by a job that is made up",
    "api-import-columns": "a file that was checked by a job that is made up",
    "api-import-match": "a file that was checked by a job that is made up",
    "api-import-store": "a file that was checked by a job that is made up",
    "study-protocol": "studies of the test have no protocol",
    "api-study-protocol": "studies of the test have no protocol",
    "study-dry-case": "no dry run is under way",
    "api-study-job": "no job of a study is there",
    "api-models-compare-job": "no job is named",
    "model-run-picture": "no picture was sent",
}

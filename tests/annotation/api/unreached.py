"""Which act of a page is which address of the API, and which is not, with the reason: by the names of the addresses."""

from __future__ import annotations

from rexvqa_site.management.commands.act import ACTS


def _like_its_page(names: str) -> dict[str, str]:
    return {name: f"api-{name}" for name in names.split()}


REACHED = {
    **{name: f"api-{name}" for name in ACTS},
    **_like_its_page(
        "question-revise question-undo finding-dismiss study-freeze study-copy study-invitation-revoke "
        "study-rereview study-reader-replace study-invite-file study-invitation-remind "
        "study-invitation-restore study-share study-export study-import leaderboard-edit model-edit "
        "model-replace model-withdraw models-compare-start prediction-import-store study-analyse "
        "study-report-make study-report-file round-import round-edit round-reviewer-remove round-reassign "
        "round-fresh round-report-make round-report-file comment-withdraw comment-done model-endpoint-probe "
        "prompt-next generation-runs generation-run-act validator-run-act bank-keeping-out bank-compare "
        "bank-embed leaderboard-submissions matching-rename matching-delete"
    ),
    "question-import-new": "api-imports",
    "question-import-store": "api-import-store",
    "upload-new": "api-uploads",
    "sample-new": "api-samples",
    "study-new": "api-studies",
    "study-invite": "api-study-invitations",
    "study-void": "api-study-voidings",
    "leaderboard-new": "api-leaderboards",
    "model-new": "api-models",
    "model-run-new": "api-model-runs",
    "prediction-import-new": "api-prediction-imports",
    "predictions-import": "api-prediction-imports",
    "predictions-import-store": "api-prediction-import-store",
    "study-analysis": "api-study-analysis-result",
    "study-results": "api-study-analysis-result",
    "round-new": "api-rounds",
    "round-reviewer-add": "api-round-reviewers",
    "round-adjudicator-add": "api-round-adjudicators",
    "round-invite": "api-round-invitations",
    "calibration-let-in": "api-round-let-in",
    "review-form-new": "api-review-forms",
    "bank-chosen": "api-bank-changes",
    "bank-chosen-undo": "api-bank-change-undo",
    "comment-add": "api-question-comments",
    "model-endpoint-price": "api-model-endpoint-prices",
    "bank-validators": "api-validator-runs-begin",
    "bank-releases": "api-releases",
    "bank-release-file": "api-release-keys",
    "question-import-columns": "api-import-match",
    "leaderboard-statement-new": "api-leaderboard-statements",
}


def _each(names: str, reason: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


NOT = {
    **_each("leaderboard-team", "a person asks for a team: tokens are of teams that are approved"),
    **_each(
        "login logout password-change password-reset password-reset-confirm profile invitation study-invitation "
        "account_login account_reauthenticate email-ask email-confirm mfa_activate_totp mfa_add_webauthn "
        "mfa_authenticate mfa_deactivate_totp mfa_generate_recovery_codes mfa_login_webauthn mfa_reauthenticate "
        "mfa_reauthenticate_webauthn mfa_remove_webauthn mfa_view_recovery_codes person-factors-reset "
        "provider-connect provider-disconnect provider-login session-end sessions-end-others",
        "who somebody is, is settled between a person and a browser, never by a token",
    ),
    **_each("token-new token-revoke", "no token makes or revokes tokens: a stolen one would never end"),
    **_each(
        "calibration review-display review-answer review-report review-draft review-events review-submit review-skip "
        "review-slip review-return review-identifies adjudication-next adjudication-decide adjudication-revise",
        "a person judges at the screen, at which the time runs and images are painted",
    ),
    **_each(
        "reading-consent reading-facts reading-instructions reading-display reading-done reading-withdraw "
        "reading-session reading-pause reading-resume reading-open reading-choice reading-events reading-commit "
        "reading-remark",
        "a reader reads at the screen; the page has an interface of its own, see docs/reading.md",
    ),
    **_each(
        "study-cases study-arms study-rules study-readers study-forecast",
        "a program sends the whole plan of a draft at once, and another one where it wants another",
    ),
    **_each(
        "study-dry-session study-dry-pause study-dry-resume study-dry-case",
        "a dry run is there to see the screen of a reader; nothing of it is stored",
    ),
    **_each(
        "quarantine-decide quarantine-words quarantine-word-remove quarantine-undo quarantine-release quarantine-mask "
        "quarantine-remove quarantine-search",
        "somebody has to look at the pixels before an image is let out",
    ),
    **_each("views-said", "a program corrects each image, at api-image-view, once it knows what its files mean"),
    **_each(
        "own-data person-data person-remove",
        "what is held about a person, and its end, is settled between people",
    ),
    **_each(
        "person-add person-invite person-invite-file person-grant person-withdraw person-competences "
        "person-deactivate person-reactivate person-password-link",
        "who may come in and do what is settled between people in a browser: a stolen token must give no role",
    ),
    **_each(
        "invitation-resend invitation-revoke invitation-restore",
        "links to roles of the site are for people; one into a round is revoked at api-round-invitation-revoke",
    ),
    **_each("round-invite-file", "a program invites one after the other, at api-round-invitations"),
    **_each("audit-export", "a program reads the same file by GET, at api-audit-log; it is noted all the same"),
    **_each(
        "audit-check site-backup site-restored site-webhook-test site-webhook-again",
        "the site is kept running from its pages and commands",
    ),
    **_each(
        "study-interim",
        "whoever looks before closing decides it each time, for a reason that is reported: a program repeats one",
    ),
    **_each("pair-judge", "two people judge pairs blind at the screen"),
    **_each(
        "bank-classify bank-class-threshold",
        "a person says from the curve where a class begins; a program has classify_questions on the server",
    ),
    **_each(
        "pair-trials pair-threshold pair-end",
        "people agree who judges pairs, and one of them says from the curve where two questions part",
    ),
    **_each(
        "bank-terms bank-permission-new bank-permission-withdraw",
        "what may be sent to a model stands on a contract or approval: an administrator answers for it in person",
    ),
    **_each(
        "upload-fetch",
        "accession numbers are typed by a person and kept for one job; a program has ingest_dicomweb on the server",
    ),
    **_each(
        "bank-delete sample-delete round-delete study-delete upload-delete bin-restore",
        "what deletes asks a person first, who is told what follows",
    ),
}

"""README.txt of a report: what each file is, and where two people could read it differently. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from readerstudy.analysis.kernels.result import StoredAnalysis
from readerstudy.report.imrmc import N_FAKE
from readerstudy.results.kernels.stored import post_hoc_models
from readerstudy.results.wording import came, plan_kind

WIDTH = 110
RULES = """
Numbers in CSV files have full precision; shares are from 0 to 1. A missing value has its reason beside it. The tables
for LaTeX and DOCX are rounded: percent to one decimal, to two from n = 1,000 on, kappa and p to three.

Text in a CSV cell that a spreadsheet could take for a formula has one apostrophe in front: take one leading apostrophe
away.

The LaTeX tables need the packages booktabs and longtable; tables/all_tables.tex shows all of them. Where names hold
letters outside Latin, compile with LuaLaTeX or XeLaTeX.

data/imrmc.csv and data/study.imrmc hold the same rows in the input form of iMRMC, with and without a header. Score 1:
right, 0: wrong, by the rule of the analysis; what does not count for a rater has no row, and cases voided before
unblinding are left out. The truth rows have readerID -1 and modalityID 0. iMRMC expects cases with and without disease:
as its documentation advises for binary outcomes, the cases of the study stand as cases with disease, and {n_fake} cases
that nobody has read stand as cases without, with the score 0.5 throughout. What iMRMC calls AUC is then the share that
is right. Modality 1 are the readers themselves; in the modality of a model every reader has the answer of that model,
so that its difference from modality 1 is the model minus the mean of the readers. data/imrmc_key.csv says who is who.
For functions that take plain successes, leave out the truth rows and the scores of 0.5. Where readers have different
cases or answers are missing, iMRMC gives every reader the same weight and the analysis here every question, so that the
two differ slightly; it knows no patients or exams with several questions.

data/responses.csv and data/predictions.csv hold every column for a logistic mixed model. Wald tests of such a model
have no degrees of freedom of readers, so that with few readers p is far too small (0.0009 where the multi-reader
analysis of the same answers gives 0.028), and readers and models need random case effects of their own.

protocol.json is the frozen protocol, byte for byte: its SHA-256 is the hash that every page of the study shows.
protocol_opening.json opens the commitment that holds the keys. Neither is there for a study that was not frozen here.

A model that is post hoc came in, or was chosen, after somebody had seen a result: nobody can have planned it. Its
numbers carry the flag post_hoc, its comparisons are in no family, and no other model or group depends on it.

Readers appear under the pseudonym that they have in the study.
"""


def readme_text(result: StoredAnalysis, result_sha256: str, files: Mapping[str, str]) -> str:
    """``files``: what each file or folder is, by name, in the order to be listed."""
    title = f"Report of the reader study “{result['study']}”"
    head = [title, "=" * len(title), ""]
    if result["simulated"]:
        head += ["SIMULATED DATA: readings and answers of this study were made up.", ""]
    version = ", ".join(f"{name} {one}" for name, one in result["software"].items()) if "software" in result else ""
    facts = {
        "Protocol SHA-256": result["protocol_sha256"],
        "Inputs SHA-256": result.get("inputs_sha256", ""),
        "Analysis SHA-256": result_sha256,
        "Comparison": plan_kind(result),
        "Post hoc": "; ".join(f"{one['name']}, {came(one)}" for one in post_hoc_models(result)),
        "Seed and draws": f"{result['settings']['seed']}, {result['settings']['draws']}",
        "Computed with": version,
    }
    lines = [*head, *(f"{name}: {fact}" for name, fact in facts.items() if fact), "", "Files", "-----"]
    width = max(map(len, files))
    for name, about in files.items():
        indent = " " * (width + 2)
        lines += textwrap.wrap(f"{name:<{width}}  {about}", WIDTH, subsequent_indent=indent, break_long_words=False)
    lines += ["", "How to read them", "----------------"]
    for rule in RULES.format(n_fake=N_FAKE).strip().split("\n\n"):
        lines += [*textwrap.wrap(rule, WIDTH, break_long_words=False), ""]
    return "\n".join(lines).rstrip() + "\n"

"""What reporting guidelines ask for, by number and in a few words of ours, beside what the program knows of a study.
Pure.

The wording that counts is that of the guidelines; numbers and topics were compared with published copies of them.

- GRRAS: J. Kottner et al., J. Clin. Epidemiol. 64 (2011) 96-106, table 1. - CLAIM: A. S. Tejani et al., Checklist for
AI in Medical Imaging, 2024 update, Radiol. Artif. Intell. 6 (2024) e240300. - STARD-AI: V. Sounderajah et al., Nat.
Med. 31 (2025) 3283-3289, table 2. - STARD 2015: P. M. Bossuyt et al., BMJ 351 (2015) h5527, table 1. - MI-CLEAR-LLM: S.
H. Park et al., Korean J. Radiol. 25 (2024) 865-868. - DECIDE-AI: B. Vasey et al., Nat. Med. 28 (2022) 924-933, table 2;
numbers for items on AI, Roman ones for the others.

The last word of a line names the facts that are filled in; "-": the program knows none.
"""

from __future__ import annotations

from typing import NamedTuple

from annotation.tables.kernels.table import TEXT, YES_NO, Cell, Column
from readerstudy.analysis.kernels.result import ALL_TASKS, MODEL, READER, StoredAnalysis
from readerstudy.exports.methods import StudyFacts, counted, paragraphs_of
from readerstudy.results.kernels.stored import panel_names, task_label
from readerstudy.results.wording import plan_kind


class GuidelineItem(NamedTuple):
    guideline: str
    number: str
    topic: str
    fact: str  # "-": none


GRRAS = """
1 | title or abstract: reliability or agreement was investigated | -
2 | the measurement of interest | measurement
3 | population of subjects | -
4 | population of raters | experience
5 | what is known already, rationale | -
6 | sample size: how chosen; raters, subjects, repeated ratings | size
7 | sampling method | cases
8 | rating process: intervals, clinical information, blinding | reading
9 | independence of ratings | independence
10 | statistical analysis | statistics
11 | raters and subjects included, repeated ratings made | included
12 | characteristics of raters and subjects | experience
13 | estimates of agreement with their uncertainty | agreement
14 | practical relevance of the results | -
15 | detailed results, where possible | detailed
"""
CLAIM = """
1 | AI methodology named in title or abstract | -
2 | structured summary | -
3 | background, intended use and role | -
4 | aims, objectives, hypotheses | primary
5 | prospective or retrospective | -
6 | goal of the study | primary
7 | data sources | bank
8 | inclusion and exclusion criteria | cases
9 | preprocessing of data | -
10 | selection of subsets of data | cases
11 | de-identification | -
12 | missing data | missing
13 | image acquisition protocol | -
14 | definition of the reference standard | reference
15 | rationale of the reference standard | -
16 | source of the reference annotations, qualification of annotators | -
17 | annotation of the test set | -
18 | variability of annotators | -
19 | assignment of data to partitions | -
20 | level at which partitions are disjoint | -
21 | intended sample size | size
22 | description of the model | models
23 | software, libraries and packages | software
24 | initialisation of parameters | -
25 | training | -
26 | choice of the final model | models
27 | ensembling | -
28 | metrics of performance | statistics
29 | uncertainty and significance | statistics
30 | robustness or sensitivity | sensitivity
31 | explainability | -
32 | testing on internal data | -
33 | testing on external data | -
34 | registration of a clinical trial | -
35 | numbers included and excluded, with a flow chart | included
36 | demographic and clinical characteristics of each partition | -
37 | performance, also in subgroups | accuracy
38 | estimates of diagnostic performance with their precision | accuracy
39 | analysis of failures | failures
40 | limitations | -
41 | implications for practice | -
42 | full protocol | protocol
43 | availability of software, model and data | detailed
44 | funding | -
"""
STARD_AI = """
1 | AI-centred diagnostic accuracy and a measure of it in title or abstract | -
2 | structured summary | -
3 | background, intended use, place in the workflow | -
4 | objectives and hypotheses | primary
5 | data collected before or after the tests | -
6 | ethics approval | -
7 | eligibility of participants and data | cases
8 | how eligible participants were identified | -
9 | setting, location, dates | dates
10 | consecutive, random or convenience series | cases
11 | source of the data | bank
12 | annotation of the dataset | -
13 | devices and software of data capture | -
14 | acquisition and preprocessing | -
15a | index test | models
15b | development of the index test | -
15c | result categories of the index test | categories
15d | end user and expertise | -
16a | reference standard | reference
16b | rationale of the reference standard | -
16c | result categories of the reference standard | categories
17a | what performers and readers of the index test knew | independence
17b | what assessors of the reference standard knew | -
18 | estimating and comparing accuracy | statistics
19 | indeterminate results | indeterminate
20 | missing data | missing
21 | analyses of variability, planned or exploratory | statistics
22 | intended sample size | size
23 | analysis of errors and of fairness | failures
24 | flow diagram | included
25 | characteristics of training, validation and test sets | mix
26a | severity of the target condition | -
26b | alternative diagnoses | -
27 | interval between index test and reference standard | -
28 | whether the data represent the intended use | -
29 | external evaluation: differences between datasets | -
30 | cross-tabulation with the reference standard | crosstab
31 | estimates of accuracy with their precision | accuracy
32 | adverse events | -
33 | limitations | -
34 | implications for practice | -
35 | ethical considerations and fairness | -
36 | registration | -
37 | where the protocol can be found | protocol
38 | funding | -
39 | commercial interests | -
40a | availability of data and code | detailed
40b | whether outputs are stored and can be audited | audit
"""
STARD = """
1 | diagnostic accuracy and a measure of it in title or abstract | -
2 | structured summary | -
3 | background, intended use and role of the index test | -
4 | objectives and hypotheses | primary
5 | data collected before or after the tests | -
6 | eligibility | cases
7 | how eligible participants were identified | -
8 | setting, location, dates | dates
9 | consecutive, random or convenience series | cases
10a | index test | models
10b | reference standard | reference
11 | rationale of the reference standard | -
12a | result categories of the index test | categories
12b | result categories of the reference standard | categories
13a | what performers and readers of the index test knew | independence
13b | what assessors of the reference standard knew | -
14 | estimating and comparing accuracy | statistics
15 | indeterminate results | indeterminate
16 | missing data | missing
17 | analyses of variability, prespecified or exploratory | statistics
18 | intended sample size and how it was determined | size
19 | flow diagram | included
20 | baseline characteristics of participants | -
21a | severity of the target condition | -
21b | alternative diagnoses | -
22 | interval and interventions between index test and reference standard | -
23 | cross-tabulation with the reference standard | crosstab
24 | estimates of accuracy with their precision | accuracy
25 | adverse events | -
26 | limitations | -
27 | implications for practice | -
28 | registration | -
29 | where the protocol can be found | protocol
30 | funding | -
"""
MI_CLEAR_LLM = """
1 | the model: name, version, manufacturer, dates of training and of the queries, access to the web | models
2 | stochasticity: settings, number of attempts, how they were put together | attempts
3 | wording and syntax of the prompts | prompts
4 | structure of the prompts: sessions, order, what was asked together | -
5 | testing and optimisation of the prompts | -
6 | independence of the test data from the training data | -
"""
DECIDE_AI = """
1 | title: early clinical evaluation of a decision support system based on AI | -
I | structured summary | -
2 | intended use: condition, patients, users, place in the pathway | -
II | objectives | primary
III | protocol, registration, ethics approval | protocol
3a | recruitment of patients and data, how their number was decided | cases
3b | recruitment of users, how their number was decided | size
3c | how users were made familiar with the system | -
4 | the AI system: version, algorithm, inputs, outputs | models
5 | implementation: setting, clinical workflow | reading
IV | primary and secondary outcomes | primary
6 | how errors and risks to safety were defined and identified | -
7 | human factors: methods, use cases, users | -
V | statistical analysis, prespecified additional analyses | statistics
8 | methods towards an ethics-related goal, such as fairness | -
VI | involvement of patients | -
9 | characteristics of patients and users, missing input data | experience
10 | exposure of users, adherence, changes of the workflow | -
VII | main results, also of comparison groups | accuracy
VIII | results in prespecified subgroups | accuracy
11 | changes to the AI system during the study | -
12 | agreement of users with the AI system | users
13 | errors, malfunctions, harm | failures
14 | usability, learning curves | learning
15 | whether the results support the intended use | -
16 | what the results say about safety | -
IX | strengths and limitations | -
17 | availability of data and code | detailed
X | conflicts of interest | -
"""


def _items(guideline: str, text: str) -> list[GuidelineItem]:
    rows = (line.split(" | ") for line in text.strip().splitlines())
    return [GuidelineItem(guideline, number, topic, fact) for number, topic, fact in rows]


ITEMS: tuple[GuidelineItem, ...] = (
    *_items("GRRAS 2011", GRRAS),
    *_items("CLAIM 2024", CLAIM),
    *_items("STARD-AI 2025", STARD_AI),
    *_items("STARD 2015", STARD),
    *_items("MI-CLEAR-LLM 2024", MI_CLEAR_LLM),
    *_items("DECIDE-AI 2022", DECIDE_AI),
)


# --- What reporting guidelines ask for, beside what the program knows of a study. Pure ------------
NOT_KNOWN = "not known to the program"
COLUMNS = (
    Column(
        "guideline",
        TEXT,
        "Guideline and its year.",
        "GRRAS 2011, CLAIM 2024, STARD-AI 2025, STARD 2015, MI-CLEAR-LLM 2024, DECIDE-AI 2022",
    ),
    Column("item", TEXT, "Number of the item in the guideline."),
    Column("topic", TEXT, "What it asks for, in a few words of ours; the wording that counts is the guideline's."),
    Column("known", YES_NO, "Whether the program knows something that belongs there; it may not be all."),
    Column("fact", TEXT, "What it knows, or where in this report it is found."),
)


def checklist_rows(result: StoredAnalysis, facts: StudyFacts) -> list[list[Cell]]:
    known = facts_for_items(result, facts)
    return [
        [item.guideline, item.number, item.topic, item.fact in known, known.get(item.fact, NOT_KNOWN)] for item in ITEMS
    ]


def facts_for_items(result: StoredAnalysis, facts: StudyFacts) -> dict[str, str]:
    """By the names that guideline_items uses; what is not known has no entry."""
    text, kinds = paragraphs_of(result, facts), [one["kind"] for one in result["raters"]]
    asked, raters = result["questions"], result["panels"][ALL_TASKS]["raters"]
    counts = {name: sum(one[name] for one in raters) for name in ("n_missing", "n_failed", "n_declined")}
    mix = (f"{task_label(name)} {result['panels'][name]['n']}" for name in panel_names(result) if name != ALL_TASKS)
    known = {
        "measurement": "multiple-choice questions with four options about images",
        "size": text["Sample size"] + _notes(result),
        "cases": text["Cases"],
        "bank": f"bank “{facts.cases.bank}”" + (f", {facts.cases.n_bank:,} questions" if facts.cases.n_bank else ""),
        "statistics": text["Statistical analysis"],
        "reference": text["Reference standard"],
        "included": f"{counted(asked['n_scored'], 'question')} of {asked['n_cases']} scored, "
        f"{counted(kinds.count(READER), 'reader')} and {counted(kinds.count(MODEL), 'model')} analysed; flow.svg, "
        f"tables/excluded.csv",
        "mix": f"questions by task: {', '.join(mix)}; by difficulty: tables/difficulties.csv",
        "agreement": "tables/pairs, kappas_by_task, groups and mean_agreement, with 95 % intervals and n",
        "accuracy": "tables/accuracy, tables/categories, tables/difficulties, with 95 % intervals and n",
        "primary": f"{plan_kind(result)}: {result['plan']['primary']}; inference: {result['plan']['inference']}",
        "missing": f"{counts['n_missing']} answers missing, not counted, by rater in tables/accuracy.csv; questions "
        "with a missing answer are left out of the comparison with the mean of the readers",
        "indeterminate": f"{counted(counts['n_declined'], 'answer')} “cannot tell”, "
        f"{counted(counts['n_failed'], 'failed extraction')}; rules in methods.txt",
        "categories": "four options, A to D; one is the key",
        "crosstab": "right and wrong of every pair of raters: tables/pairs.csv; answers beside keys: data/ratings.csv",
        "failures": "questions that everybody missed: tables/cases.csv; fairness was not analysed",
        "sensitivity": "tables/variants, and the sensitivity analyses of tables/time",
        "software": ", ".join(f"{name} {version}" for name, version in facts.software.items()),
        "detailed": "data/ with codebooks, analysis.json, recompute.py",
        "protocol": f"protocol.json, SHA-256 {facts.protocol_sha256}",
        "audit": "answers are stored unchanged; views, exports and changes are in the audit log of the program",
    }
    if facts.models:
        known |= {"models": text["Models"], "attempts": _attempts(facts)}
    if any(one.prompt for one in facts.models):
        n_prompts = sum(bool(one.prompt) for one in facts.models)
        known["prompts"] = f"of {n_prompts} of {counted(len(facts.models), 'model')}: data/models.csv"
    if result["tables"]["positions"] and facts.flow.n_enrolled:
        known["learning"] = "accuracy by place in the order: tables/positions; times by place: tables/time"
    known |= {"experience": text["Readers"]} if facts.readers.n_reported else {}
    if facts.flow.n_enrolled:
        known |= {"reading": text["Reading"], "independence": text["Reading"]}
        if facts.unaided:
            known["users"] = (
                "readers read without any answer of a model, so that nobody followed or overruled one; how far they "
                "agree with models: tables/pairs"
            )
    if facts.opened_at and facts.closed_at:
        known["dates"] = f"read from {facts.opened_at.date()} to {facts.closed_at.date()}; of the images: {NOT_KNOWN}"
    return known


def _attempts(facts: StudyFacts) -> str:
    """One line for each model: its runs on this study, and the settings as they were entered."""
    return "; ".join(
        f"{one.entry}: {counted(one.n_runs, 'run')}, run {one.run_number} analysed, decoding "
        f"{one.decoding.strip().rstrip('.') or NOT_KNOWN}"
        for one in facts.models
    )


def _notes(result: StoredAnalysis) -> str:
    notes = result["plan"]["notes"].strip()
    return f" Notes of the plan: {notes}" if notes else ""

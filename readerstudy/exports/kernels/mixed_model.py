"""A logistic mixed model of right and wrong; not part of the analysis of the report. Beside ratings.csv:

    pip install statsmodels
    python mixed_model.py

Readers are random; each model is compared with them. Cases have one effect for readers and one for models: with one
that both share, as where there is a single model, the error of the difference is too small. statsmodels has no
maximum likelihood for crossed random effects: this is its variational Bayes, with weak priors. Means are near those of
glmer, standard deviations too small: of the demonstration's study 0.7 to 0.8 of glmer's for models, 0.2 to 0.5
for the rest. mixed_model.R is the better one, and has a cumulative model of the readers' confidence.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM

rows = pd.read_csv(Path(__file__).with_name("ratings.csv"), keep_default_na=False, dtype=str)
rows = rows[(rows["correct"] != "") & (rows["voided"] != "before_unblinding")]
human = rows["kind"] == "reader"
fixed = pd.get_dummies(rows["task"], dtype=float).iloc[:, 1:]  # against the first task, and models against readers
fixed = pd.concat([pd.get_dummies(rows["rater"].mask(human), dtype=float), fixed], axis=1)
fixed.insert(0, "readers", 1.0)
effects = {"reader": rows["rater"].where(human)}
if rows["rater"][~human].nunique() > 1:
    effects |= {"case of readers": rows["case"].where(human), "case of models": rows["case"].where(~human)}
else:
    effects["case"] = rows["case"]
if rows.groupby("cluster")["case"].nunique().max() > 1:
    effects["cluster"] = rows["cluster"]
blocks = []
for labels in effects.values():  # a column for each reader, case and so on
    columns = pd.Categorical(labels).codes.astype(int)
    (places,) = np.nonzero(columns >= 0)
    block = (np.ones(len(places)), (places, columns[places]))
    blocks.append(sparse.csr_matrix(block, shape=(len(rows), columns.max() + 1)))
belongs_to = np.repeat(np.arange(len(blocks)), [one.shape[1] for one in blocks])
right = rows["correct"].astype(float)
model = BinomialBayesMixedGLM(right, fixed, sparse.hstack(blocks).tocsr(), belongs_to, vcp_names=list(effects))
np.random.seed(1)  # where the search begins
print(model.fit_vb().summary())
print("""
Post. Mean of "readers" and below: log odds for a typical reader and case, and what adds to them; not differences of
accuracy. Of random effects: the logarithm of their standard deviation. Mean / SD is no test: as Wald tests it has no
degrees of freedom of readers, and with few readers p is far too small (0.0009 where the multi-reader analysis of the
same answers gives 0.028). What to report is the analysis of the report.""")

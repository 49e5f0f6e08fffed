# A logistic mixed model of right and wrong (glmer), and a cumulative one of the readers' confidence (clmm), where asked.
# Neither is part of the analysis of the report. Beside ratings.csv:
#     install.packages(c("lme4", "ordinal"))
#     Rscript mixed_model.R
# Readers are random; each model is compared with them. Cases have an effect, and one of their own for readers and for
# models: with a shared one alone the error of the difference is too small.
library(lme4)
library(ordinal)

rows <- read.csv("ratings.csv", na.strings = "", stringsAsFactors = FALSE)
rows <- subset(rows, !is.na(correct) & !(voided %in% "before_unblinding"))
rows$human <- as.numeric(rows$kind == "reader")
rows$who <- relevel(factor(ifelse(rows$human == 1, "readers", rows$rater)), ref = "readers")
terms <- c("(0 + human | rater)", "(1 | case)", if (any(rows$human == 0)) "who + (1 | case:kind)",
           if (length(unique(rows$task)) > 1) "task", if (anyDuplicated(unique(rows[c("case", "cluster")])$cluster)) "(1 | cluster)")
right <- glmer(reformulate(terms, "correct"), rows, binomial, control = glmerControl(optimizer = "bobyqa"))
print(summary(right), correlation = FALSE)

sure <- subset(rows, human == 1 & !is.na(confidence))
if (length(unique(sure$confidence)) > 2)
  print(summary(clmm(factor(confidence) ~ factor(correct) + (1 | rater) + (1 | case), data = sure)))

cat("\nEstimates are log odds for a typical reader and case, not differences of accuracy. The Wald tests (z, Pr) have no",
    "degrees of freedom of readers: with few readers p is far too small (0.0009 where the multi-reader analysis of the",
    "same answers gives 0.028). What to report is the analysis of the report.\n", sep = "\n")

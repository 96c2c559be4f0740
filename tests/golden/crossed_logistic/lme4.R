# Writes lme4.json from the tables beside it. Rscript lme4.R
library(lme4)
formulas <- list(
  single = score ~ 1 + (1 | model) + (1 | question),
  repeated = score ~ 1 + (1 | model) + (1 | question) + (1 | model:question),
  domains = score ~ 1 + (1 | model) + (1 | domain) + (1 | model:domain) + (1 | question))
parts <- c()
for (name in names(formulas)) {
  data <- read.csv(paste0(name, ".csv"))
  for (column in c("model", "question", "domain")) data[[column]] <- factor(data[[column]])
  fit <- glmer(formulas[[name]], data, family = binomial, nAGQ = 1,
    control = glmerControl(optimizer = "bobyqa", tolPwrss = 1e-12, optCtrl = list(maxfun = 1e5, rhoend = 1e-9)))
  v <- as.data.frame(VarCorr(fit))
  sds <- paste0('"', v$grp, '": ', format(v$sdcor, digits = 12), collapse = ", ")
  models <- paste(format(ranef(fit)$model[, 1], digits = 12), collapse = ", ")
  parts <- c(parts, sprintf('"%s": {"log_likelihood": %.10f, "mean": %.10f, "sd": {%s}, "models": [%s]}',
    name, as.numeric(logLik(fit)), fixef(fit)[[1]], sds, models))
}
writeLines(paste0('{"lme4": "', packageVersion("lme4"), '", "R": "', getRversion(), '",\n', paste(parts, collapse = ",\n"), "}"), "lme4.json")

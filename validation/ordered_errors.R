# Standard errors of lavaan and polycor, for `ordered_errors.py`.
#
#   Rscript ordered_errors.R FOLDER
#
# Reads dwls.csv (data_set, group, one column per item, no group where it is empty) and serial.csv
# (data_set, score, answer) in the folder; writes dwls_R.csv and serial_R.csv there.

suppressMessages({library(lavaan); library(polycor)})
folder <- commandArgs(trailingOnly = TRUE)[1]

one_group <- function(table, items) {
  model <- paste("F =~", paste(items, collapse = " + "))
  fit <- suppressWarnings(cfa(model, table[items], ordered = items, std.lv = TRUE,
                              estimator = "WLSMV"))
  found <- parameterEstimates(fit)
  found <- found[found$op == "=~", ]
  data.frame(parameter = found$rhs, estimate = found$est, se = found$se)
}

two_groups <- function(table, items) {
  model <- paste("F =~", paste(items, collapse = " + "))
  fit <- suppressWarnings(cfa(model, table[c(items, "group")], ordered = items, std.lv = TRUE,
                              group = "group", estimator = "WLSMV",
                              group.equal = c("thresholds", "loadings", "intercepts")))
  found <- parameterEstimates(fit)
  loadings <- found[found$op == "=~" & found$group == 1, ]
  mean <- found[found$op == "~1" & found$lhs == "F" & found$group == 2, ]
  variance <- found[found$op == "~~" & found$lhs == "F" & found$group == 2, ]
  data.frame(parameter = c(loadings$rhs, "mean", "variance"),
             estimate = c(loadings$est, mean$est, variance$est),
             se = c(loadings$se, mean$se, variance$se))
}

tables <- read.csv(file.path(folder, "dwls.csv"))
rows <- lapply(split(tables, tables$data_set), function(table) {
  items <- grep("^x", names(table), value = TRUE)
  items <- items[colSums(is.na(table[items])) == 0]
  fit <- if (all(is.na(table$group))) one_group else two_groups
  found <- tryCatch(fit(table, items), error = function(e) NULL)
  if (is.null(found)) NULL else cbind(data_set = table$data_set[1], found)
})
write.csv(do.call(rbind, rows), file.path(folder, "dwls_R.csv"), row.names = FALSE)

scores <- read.csv(file.path(folder, "serial.csv"))
rows <- lapply(split(scores, scores$data_set), function(table) {
  two <- polyserial(table$score, table$answer, ML = FALSE, std.err = TRUE)
  full <- polyserial(table$score, table$answer, ML = TRUE, std.err = TRUE)
  data.frame(data_set = table$data_set[1], estimate = unname(two$rho), se = sqrt(two$var[1, 1]),
             estimate_ml = unname(full$rho), se_ml = sqrt(full$var[1, 1]))
})
write.csv(do.call(rbind, rows), file.path(folder, "serial_R.csv"), row.names = FALSE)

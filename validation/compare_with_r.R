# Times R's tetrachoric correlations on the tables of a folder; called by compare_with_r.py.
#
#   Rscript compare_with_r.R FOLDER REPEATS CASE...
#
# Reads FOLDER/CASE.csv (rows: questions, columns: models, 0/1). Writes FOLDER/times.csv with the
# median user + system seconds and elapsed seconds of each method, and the matrix of each as
# FOLDER/CASE.METHOD.csv. A method whose package is not installed is left out with a message.

options(mc.cores = 1, warn = -1)
arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
repeats <- as.integer(arguments[2])
cases <- arguments[-(1:2)]

quietly <- function(expression) {
  value <- NULL
  utils::capture.output(value <- suppressMessages(expression))
  value
}

polycor_pairs <- function(table) {
  k <- ncol(table)
  matrix <- diag(k)
  for (i in seq_len(k - 1)) for (j in (i + 1):k) {
    matrix[i, j] <- matrix[j, i] <- polycor::polychor(table[, i], table[, j])
  }
  matrix
}

methods <- list(
  psych_correct_half = list("psych", function(t) psych::tetrachoric(t, correct = .5, smooth = FALSE)$rho),
  psych_correct_none = list("psych", function(t) psych::tetrachoric(t, correct = 0, smooth = FALSE)$rho),
  lavaan = list("lavaan", function(t) unclass(lavaan::lavCor(as.data.frame(t), ordered = colnames(t)))),
  polycor_two_step = list("polycor", polycor_pairs)
)

rows <- NULL
for (case in cases) {
  table <- as.matrix(read.csv(file.path(folder, paste0(case, ".csv"))))
  for (name in names(methods)) {
    package <- methods[[name]][[1]]
    if (!requireNamespace(package, quietly = TRUE)) {
      message(sprintf("%s skipped: the R package %s is not installed", name, package))
      next
    }
    if (name == "polycor_two_step" && ncol(table) > 50) next  # minutes, and nothing new
    seconds <- replicate(repeats, {
      matrix <- NULL
      time <- system.time(matrix <- quietly(methods[[name]][[2]](table)), gcFirst = TRUE)
      c(sum(time[c("user.self", "sys.self")]), time[["elapsed"]])
    })
    matrix <- quietly(methods[[name]][[2]](table))
    write.csv(matrix, file.path(folder, paste(case, name, "csv", sep = ".")), row.names = FALSE)
    version <- as.character(utils::packageVersion(package))
    rows <- rbind(rows, data.frame(
      case = case, method = name, package = paste(package, version),
      cpu = median(seconds[1, ]), elapsed = median(seconds[2, ])
    ))
    write.csv(rows, file.path(folder, "times.csv"), row.names = FALSE)
  }
}

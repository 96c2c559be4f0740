# Fleming's hierarchical model of the M-ratio in JAGS (rjags), with d', criteria and confidence
# criteria pooled over models as he has them, and without: how much the pooling of these narrows
# the posterior of each model's M-ratio.
#
#     Rscript validation/hierarchical_meta_d_jags.R COUNTS.csv ITERATIONS
#
# COUNTS.csv has one row per model, no header: counts of ratings n..1, 1..n of the first class,
# then of the second.
library(rjags)
arguments <- commandArgs(trailingOnly = TRUE)
counts <- as.matrix(read.csv(arguments[1], header = FALSE))
iterations <- as.integer(arguments[2])
n <- ncol(counts) / 4 # ratings

program <- function(pooled) paste0("
model {
  mu ~ dnorm(0, 1)
  share ~ dunif(0, 1)
  scale ~ dnorm(0, 1) T(0, )
  sigma <- share * scale
  mu_d ~ dnorm(0, 0.01)
  mu_c ~ dnorm(0, 0.01)
  mu_v ~ dnorm(0, 0.01)
  sd_d ~ dnorm(0, 0.01) T(0, )
  sd_c ~ dnorm(0, 0.01) T(0, )
  sd_v ~ dnorm(0, 0.01) T(0, )
  for (s in 1:S) {
    raw[s] ~ dnorm(0, 1)
    m[s] <- exp(mu + sigma * raw[s])
    d[s] ~ ", if (pooled) "dnorm(mu_d, pow(sd_d, -2))" else "dnorm(0, 0.01)", "
    c[s] ~ ", if (pooled) "dnorm(mu_c, pow(sd_c, -2))" else "dnorm(0, 0.01)", "
    for (j in 1:(n - 1)) {
      low_raw[s, j] ~ ", if (pooled) "dnorm(-mu_v, pow(sd_v, -2))" else "dnorm(0, 0.01)",
  " T(, c[s])
      high_raw[s, j] ~ ", if (pooled) "dnorm(mu_v, pow(sd_v, -2))" else "dnorm(0, 0.01)",
  " T(c[s], )
    }
    low[s, 1:(n - 1)] <- sort(low_raw[s, 1:(n - 1)])
    high[s, 1:(n - 1)] <- sort(high_raw[s, 1:(n - 1)])
    edge[s, 1] <- -1000
    edge[s, n + 1] <- c[s]
    edge[s, 2 * n + 1] <- 1000
    for (j in 1:(n - 1)) {
      edge[s, j + 1] <- low[s, j]
      edge[s, n + 1 + j] <- high[s, j]
    }
    for (k in 1:2) {
      chance[s, k] <- phi((2 * k - 3) * d[s] / 2 - c[s])
      yes[s, k] ~ dbin(chance[s, k], total[s, k])
      centre[s, k] <- (2 * k - 3) * m[s] * d[s] / 2
      for (j in 1:(2 * n)) {
        area[s, k, j] <- max(phi(edge[s, j + 1] - centre[s, k]) - phi(edge[s, j] - centre[s, k]),
                             1.0E-10)
      }
      no_rated[s, k, 1:n] ~ dmulti(area[s, k, 1:n], no[s, k])
      yes_rated[s, k, 1:n] ~ dmulti(area[s, k, (n + 1):(2 * n)], yes_total[s, k])
    }
  }
}")

S <- nrow(counts)
by_class <- array(NA, c(S, 2, 2 * n))
by_class[, 1, ] <- counts[, 1:(2 * n)]
by_class[, 2, ] <- counts[, (2 * n + 1):(4 * n)]
no_rated <- by_class[, , 1:n]
yes_rated <- by_class[, , (n + 1):(2 * n)]
yes <- apply(yes_rated, 1:2, sum)
no <- apply(no_rated, 1:2, sum)
data <- list(
  S = S, n = n, yes = yes, yes_total = yes, no = no, total = yes + no,
  no_rated = no_rated, yes_rated = yes_rated
)
for (pooled in c(TRUE, FALSE)) {
  start <- function(chain) {
    list(
      c = rep(0, S), d = rep(1, S), low_raw = matrix(-(1:(n - 1)) / 2, S, n - 1, byrow = TRUE),
      high_raw = matrix((1:(n - 1)) / 2, S, n - 1, byrow = TRUE), mu = -0.5,
      .RNG.name = "base::Mersenne-Twister", .RNG.seed = chain
    )
  }
  model <- jags.model(
    textConnection(program(pooled)), data, lapply(1:3, start),
    n.chains = 3, n.adapt = iterations %/% 4, quiet = TRUE
  )
  update(model, iterations %/% 4, progress.bar = "none")
  drawn <- coda.samples(model, c("mu", "sigma", "m"), iterations, progress.bar = "none")
  told <- summary(drawn)$statistics
  cat(if (pooled) "pooled\n" else "not pooled\n")
  print(round(cbind(told[, 1:2], size = effectiveSize(drawn)), 3))
}

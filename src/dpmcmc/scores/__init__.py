"""The default for models with covariates: sums of scores at a moving centre say where the posterior is."""

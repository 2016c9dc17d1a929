"""The log likelihood as a function, released once; then any number of posterior draws for free."""

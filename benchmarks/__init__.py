"""Speed against peers and against bare passes over the same records: ``python -m benchmarks``."""

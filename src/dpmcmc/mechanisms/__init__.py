"""The only code that reduces private records: clip, exact integer sums, coins."""

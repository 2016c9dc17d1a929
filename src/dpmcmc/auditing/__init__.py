"""Audits: mechanisms run on neighbouring data sets, and what they give away beside what they claim."""

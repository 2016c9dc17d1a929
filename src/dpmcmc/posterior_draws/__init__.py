"""Draws from a tempered posterior on a public finite set, each of them a choice that is paid for."""

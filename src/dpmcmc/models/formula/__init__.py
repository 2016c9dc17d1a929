"""Regression by formula over a declared table.

``terms`` reads the text, ``factors`` and ``design`` make columns from the declaration, ``families`` and ``stated`` say
what outcomes and priors are, and ``model`` puts them together.
"""

"""NumPyro models: how a record becomes arguments, what the sites are, what is refused, and the model made of it.

``entry`` is loaded without NumPyro; everything else needs it.
"""

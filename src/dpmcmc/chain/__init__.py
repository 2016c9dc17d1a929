"""Chains of private decisions: kernels, their parts, and the method that runs them."""

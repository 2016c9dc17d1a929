"""Calls with one wrong argument each, over the public interface: good calls, and what is wrong for each argument."""

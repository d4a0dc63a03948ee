"""Timings, printed and never asserted: `python -m tests.benchmarks.NAME`."""

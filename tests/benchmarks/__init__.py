"""Timings, printed and never asserted: `python -m tests.benchmarks.NAME`."""

from streamlit.logger import set_log_level

# What pages share is called here without a page, of which Streamlit warns at every call. Errors are still told.
set_log_level("ERROR")

"""The app's entry point: `streamlit run app.py`."""

from wordlm.ui.frame.shell import run_app

run_app()

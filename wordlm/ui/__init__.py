"""What several pages share. The only part of the package that knows Streamlit."""

"""What is drawn in the browser, each picture beside the Python that feeds it."""

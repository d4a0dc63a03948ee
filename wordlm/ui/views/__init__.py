"""What each page says and draws: a file or a folder a page, named as the page."""

"""What the page Heads and words says and draws."""

"""What the Generate page says and draws."""

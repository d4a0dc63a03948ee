"""What the Learn page says and draws."""

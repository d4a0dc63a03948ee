"""What the Train page says and draws."""

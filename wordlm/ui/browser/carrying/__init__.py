"""How scripts, weights and messages come to the browser and back."""

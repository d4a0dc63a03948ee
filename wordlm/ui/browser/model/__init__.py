"""The model and the tokenizer in JavaScript, and what feeds them."""

"""The browser's part: what carries files and messages, the model in JavaScript, the pictures."""

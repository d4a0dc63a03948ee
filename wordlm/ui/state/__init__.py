"""What is kept: for all visitors, and for one visitor's session."""

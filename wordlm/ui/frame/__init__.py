"""The frame around every page: menu, shared controls, the address of a view, glossary, tour."""

"""The documentation site: what is generated for it, how it is built, and what it must hold."""

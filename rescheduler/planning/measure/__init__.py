"""Whether moves helped: what they have brought, measured on a later snapshot."""

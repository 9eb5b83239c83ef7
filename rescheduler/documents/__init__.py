"""How documents are read: strict YAML with places, fields, and what is wrong with them."""

"""Kind Health: nodes and devices whose readings show that they are broken."""

"""Kind Health: nodes and devices whose readings say that they are broken."""

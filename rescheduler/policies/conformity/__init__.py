"""Kind Conformity: rules of placement that must hold later too."""

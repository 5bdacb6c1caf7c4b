"""Archives that are not here yet: the catalogue of a library, and getting files from it. Only this asks the network."""

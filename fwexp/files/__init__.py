"""Files: written at once or not at all, claimed, owned by the marks of their folders, and the code of the package as files."""

"""Files: written at once or not at all, in folders of one's own, read with care, and the code of the package as files."""

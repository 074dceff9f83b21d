"""Query in, ranked pages out. Two calls serve a reader: search, then read."""

"""Derived data: one SQLite file a model, which can be deleted and made again from the pages."""

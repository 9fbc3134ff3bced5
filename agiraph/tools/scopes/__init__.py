"""Scopes: the files that an entity may read and write; all paths of models are resolved here."""

"""Tools for models that have none: schemas in the prompt, calls read from the text."""

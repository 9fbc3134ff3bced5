"""Tools for models without tool calling: schemas in the prompt, calls read from the text."""

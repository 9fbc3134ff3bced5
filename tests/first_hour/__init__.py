"""docs/first-hour.md: what a person types in the first hour, and what the terminal shows then.

`make first-hour` writes the page: it types each line of `story.py` in a home of its own. A test
does the same and compares.
"""

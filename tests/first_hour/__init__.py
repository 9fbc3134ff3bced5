"""docs/first-hour.md: the commands of the first hour, and the output of the terminal.

`make first-hour` writes the page: it types each line of `story.py` in a home of its own. A test
does the same and compares.
"""

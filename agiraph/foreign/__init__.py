"""Input from other programs and services, read within limits: lines of text and HTTP answers.

A sender outside Agiraph decides the size, the compression and the redirects of its data. Each
reader therefore has a limit with a name, takes time proportional to the input, and reports refused
input.
"""

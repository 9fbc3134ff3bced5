"""What other programs and services send, read within bounds: lines of text and HTTP answers.

A sender outside Agiraph decides how much it sends, how it is compressed and where it leads. Each
reader therefore has a limit with a name, takes time proportional to the input, and reports what it
refuses.
"""

"""Plans that are written before the run: a file becomes a board that is filled up front.

Two forms are read, the collaboration plan (stages of roles) and the static graph (nodes with
dependencies), as JSON or YAML. Both become one `Plan`, which becomes the commands that fill the
board.
"""

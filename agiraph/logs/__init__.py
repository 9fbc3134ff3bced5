"""Logs of processes: written as lines, kept in files of bounded size, read and followed again."""

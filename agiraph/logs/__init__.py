"""Logs of processes: written as lines, kept in files of limited size, read and followed."""

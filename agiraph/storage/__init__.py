"""The files of a home, and the one way to open them: paths, journals, segments, snapshots."""

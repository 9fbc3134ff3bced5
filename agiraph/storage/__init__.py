"""The files of a home, and the only module that opens them: paths, journals, segments,
snapshots."""

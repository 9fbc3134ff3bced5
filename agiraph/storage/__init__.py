"""The files of a home, opened only here: paths, journals, segments, snapshots."""

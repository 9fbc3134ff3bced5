"""What stands in a home, and the one way to open it: paths, files, journals, snapshots."""

"""Files over HTTP: the confined browser of folders, a file as its bytes, a file rendered."""

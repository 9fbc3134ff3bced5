"""The paths of refs in a worker's folder."""

from agiraph.core.ref_paths import ref_paths


def test_a_ref_has_a_folder_of_its_name_with_its_files() -> None:
    refs = {"up": "nodes/a/published", "one": "nodes/a/published/b/c.csv"}
    assert ref_paths(refs) == {"up": "refs/up", "one": "refs/one/c.csv"}


def test_hostile_and_equal_names_lead_nowhere_else() -> None:
    names = ("../up", "UP", "up", "..", "", "a/b\0", "x" * 200)
    paths = ref_paths(dict.fromkeys(names, "nodes/a/published"))
    assert list(paths.values()) == [
        *("refs/up", "refs/UP-2", "refs/up-3", "refs/ref", "refs/ref-2", "refs/a-b"),
        f"refs/{'x' * 60}",
    ]

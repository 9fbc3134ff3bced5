"""A worker's own files: made where they are missing, and kept where they are not."""

from pathlib import Path

from actors.worker.files import WorkerFiles
from agiraph.core.ids import WorkerId
from agiraph.core.models import TeamRoster, Worker
from agiraph.storage.home import WorkerHome

ADA = Worker(id=WorkerId("ada-1"), name="ada", role="writer", memory="Likes tables.")


def test_what_a_power_cut_has_left_empty_is_made_again_and_the_rest_is_kept(tmp_path: Path) -> None:
    home = WorkerHome(tmp_path / "ada-1")
    files = WorkerFiles(home, ADA)
    assert "I am ada, a writer." in home.identity.read_text()
    home.notebook.write_text("mine\n")
    for torn in (home.identity, home.memory, home.history, home.roster):
        torn.write_bytes(b"")
    files = WorkerFiles(home, ADA)
    assert files.load_roster() == TeamRoster()
    assert home.notebook.read_text() == "mine\n"
    assert "Likes tables." in home.memory.read_text()
    assert home.history.read_text() == "[]\n"

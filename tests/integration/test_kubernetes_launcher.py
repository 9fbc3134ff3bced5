"""The Kubernetes launcher against an HTTP server that keeps pods as a cluster's API does."""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from actors.scaler.ends import LauncherFailed
from actors.scaler.kubernetes import KubernetesLauncher, find_cluster
from agiraph.core.errors import Refused
from agiraph.settings.config import load_config
from agiraph.settings.hosts import ScalerConfig
from agiraph.storage.home import Home

NAME = "auto-1a2b3c"


class Api(ThreadingHTTPServer):
    """Keeps the pods of one namespace; requests without its token are refused."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ApiCall)
        self.pods: dict[str, dict[str, Any]] = {}


class ApiCall(BaseHTTPRequestHandler):
    """One call of the API."""

    server: Api

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def answer(self, status: int, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do(self) -> None:
        if self.headers["Authorization"] != "Bearer t-1":
            return self.answer(401, {"kind": "Status", "message": "Unauthorized"})
        path, _, query = self.path.partition("?")
        found = re.fullmatch(r"/api/v1/namespaces/team/pods(?:/([a-z0-9-]+))?", path)
        assert found, path
        pods, name = self.server.pods, found[1]
        if self.command == "POST":
            made = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if made["metadata"]["name"] in pods:
                return self.answer(409, {"message": "AlreadyExists"})
            pods[made["metadata"]["name"]] = made | {"status": {"phase": "Pending"}}
            return self.answer(201, made)
        if self.command == "DELETE":
            gone = pods.pop(name, None)
            return self.answer(*((200, gone) if gone else (404, {"message": "not found"})))
        label = query.removeprefix("labelSelector=agiraph-home%3D")
        items = [p for p in pods.values() if p["metadata"]["labels"]["agiraph-home"] == label]
        return self.answer(200, {"kind": "PodList", "items": items})

    do_GET = do_POST = do_DELETE = do  # noqa: N815 (the names that the server looks for)


@pytest.fixture
def api() -> Iterator[Api]:
    with Api() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def launcher(folder: Path, api: Api, token: str = "t-1", key: str = "k") -> KubernetesLauncher:
    home = Home(folder)
    home.system.path.mkdir(parents=True, exist_ok=True)
    home.system.uplink_key.write_text(json.dumps({"public": key}))
    kubeconfig = folder / "config"
    named = {
        "current-context": "c",
        "contexts": [
            {"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "team"}},
        ],
        "clusters": [
            {"name": "k", "cluster": {"server": f"http://127.0.0.1:{api.server_port}"}},
        ],
        "users": [{"name": "u", "user": {"token": token}}],
    }
    kubeconfig.write_text(json.dumps(named))
    settings: ScalerConfig = load_config().scaler
    return KubernetesLauncher(settings, home, find_cluster(kubeconfig, folder / "none"))


async def test_pods_are_made_listed_and_deleted_and_their_ends_have_a_cause(
    tmp_path: Path, api: Api
) -> None:
    ours, others = launcher(tmp_path, api), launcher(tmp_path, api, key="other")
    await ours.start(NAME, "agiraph-invitation:1:x")
    assert await ours.instances() == {NAME: None}
    assert await others.instances() == {}
    spec = api.pods[NAME]["spec"]
    assert spec["securityContext"]["runAsNonRoot"]
    environ = {one["name"]: one["value"] for one in spec["containers"][0]["env"]}
    assert environ == {"AGIRAPH_INVITATION": "agiraph-invitation:1:x", "AGIRAPH_HOST_NAME": NAME}
    api.pods[NAME]["status"] = {"phase": "Failed", "reason": "NodeLost", "message": "node n1"}
    lost = (await ours.instances())[NAME]
    assert lost is not None
    assert (lost.kind, lost.text) == ("node_lost", "NodeLost: node n1")
    api.pods[NAME]["status"] = {"phase": "Succeeded"}
    exited = (await ours.instances())[NAME]
    assert exited is not None
    assert exited.kind == "exited"
    with pytest.raises(LauncherFailed, match="409: AlreadyExists"):
        await ours.start(NAME, "agiraph-invitation:1:x")
    await ours.end(NAME)
    await ours.end(NAME)
    assert not api.pods
    for one in (ours, others):
        await one.close()


async def test_refused_token_and_missing_configuration_are_named(tmp_path: Path, api: Api) -> None:
    stranger = launcher(tmp_path, api, token="t-2")
    with pytest.raises(LauncherFailed, match="401: Unauthorized"):
        await stranger.instances()
    await stranger.close()
    with pytest.raises(Refused, match="no pod with a service account"):
        find_cluster(tmp_path / "no-config", tmp_path / "none")
    (tmp_path / "config").write_text("current-context: nowhere\ncontexts: []\n")
    with pytest.raises(Refused, match="the current context cannot be used"):
        find_cluster(tmp_path / "config", tmp_path / "none")

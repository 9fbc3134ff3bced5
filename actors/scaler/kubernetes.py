"""KubernetesLauncher: hosts as pods, through the cluster's HTTP API.

Inside a cluster it uses the service account of the home's pod, which may create, list and delete
pods of its namespace; outside it uses the current context of `~/.kube/config` (a token, or files of
a client's certificate).
"""

import asyncio
import base64
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from actors.scaler.ends import HostEnd, LauncherFailed, label_of
from agiraph.core.errors import Refused
from agiraph.foreign.http import ACCEPTED, AnswerRefused, guard
from agiraph.settings.hosts import ScalerConfig
from agiraph.settings.yaml_text import parse_yaml
from agiraph.storage.home import Home, expanded

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
IN_CLUSTER: Final = "https://kubernetes.default.svc"
KUBECONFIG: Final = Path("~/.kube/config")
HOME_LABEL: Final = "agiraph-home"
FOLDER: Final = "/var/lib/agiraph"
TIMEOUT_SECONDS: Final = 10.0
CALL_SECONDS: Final = 30.0
ANSWER_BYTES: Final = 32 << 20
USER_ID: Final = 10001
GRACE_SECONDS: Final = 120
LOST_REASONS: Final = frozenset({"NodeLost", "NodeShutdown", "NodeAffinity", "Evicted", "Shutdown"})
MOST_TEXT: Final = 300


@dataclass(frozen=True, slots=True)
class Cluster:
    """The API of a cluster, and its credentials; `token_file` is read again for each call."""

    url: str
    namespace: str
    tls: ssl.SSLContext | bool = True
    token: str = ""
    token_file: Path | None = None

    def headers(self) -> dict[str, str]:
        """Return the headers that authenticate a call."""
        token = self.token
        if self.token_file is not None:
            token = self.token_file.read_text().strip()  # plain: mounted by Kubernetes
        return {"Authorization": f"Bearer {token}"} if token else {}


class KubernetesLauncher:
    """Starts pods; the pods of this home have its label."""

    def __init__(self, settings: ScalerConfig, home: Home, cluster: Cluster) -> None:
        self._label = label_of(home)
        self._settings = settings
        self._cluster = cluster
        self._pods = f"/api/v1/namespaces/{settings.namespace or cluster.namespace}/pods"
        self._client = httpx.AsyncClient(
            base_url=cluster.url,
            verify=cluster.tls,
            timeout=TIMEOUT_SECONDS,
            trust_env=False,
            headers={"accept-encoding": ACCEPTED},
            event_hooks={"response": [guard(ANSWER_BYTES)]},
        )

    async def start(self, name: str, line: str) -> None:
        """Create a host's pod, which joins by the invitation `line`."""
        await self._call("POST", self._pods, json=pod(name, line, self._label, self._settings))

    async def instances(self) -> dict[str, HostEnd | None]:
        """Return the pods of this home, each with the reason of its end, None while it lives."""
        listed = await self._call(
            "GET", self._pods, params={"labelSelector": f"{HOME_LABEL}={self._label}"}
        )
        return {item["metadata"]["name"]: end_of(item) for item in listed["items"]}

    async def end(self, name: str) -> None:
        """Delete a pod, if it exists."""
        await self._call("DELETE", f"{self._pods}/{name}", may_lack=True)

    async def close(self) -> None:
        """Close connections; pods stay, and the next launcher finds them."""
        await self._client.aclose()

    async def _call(
        self, method: str, path: str, *, may_lack: bool = False, **more: Any
    ) -> dict[str, Any]:
        try:
            headers = self._cluster.headers()
            async with asyncio.timeout(CALL_SECONDS):
                answer = await self._client.request(method, path, headers=headers, **more)
            if not answer.is_success and not (may_lack and answer.status_code == 404):
                raise LauncherFailed(f"Kubernetes: {answer.status_code}: {_message(answer)}")
            found: dict[str, Any] = answer.json()
        except (AnswerRefused, httpx.HTTPError, OSError, ValueError) as error:
            why = str(error) or type(error).__name__
            raise LauncherFailed(f"Kubernetes at {self._cluster.url}: {why}") from None
        return found


def pod(name: str, line: str, label: str, settings: ScalerConfig) -> dict[str, Any]:
    """Return the manifest of a host's pod. The invitation in it is valid once."""
    memory = f"{settings.memory_mb}Mi"
    cpu = f"{round(1000 * settings.cpus)}m"
    volumes = {"host": FOLDER, "tmp": "/tmp"}
    container = {
        "name": "host",
        "image": settings.image,
        "command": ["agiraph-host", "--folder", f"{FOLDER}/host"],
        "env": [
            {"name": "AGIRAPH_INVITATION", "value": line},
            {"name": "AGIRAPH_HOST_NAME", "value": name},
        ],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "resources": {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory}},
        "volumeMounts": [{"name": key, "mountPath": path} for key, path in volumes.items()],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "agiraph", "part": "host", HOME_LABEL: label}},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": GRACE_SECONDS,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": USER_ID,
                "fsGroup": USER_ID,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
            "volumes": [{"name": key, "emptyDir": {}} for key in volumes],
        },
    }


def end_of(item: Mapping[str, Any]) -> HostEnd | None:
    """Return why a pod has ended, None while it lives."""
    status = item.get("status", {})
    reason = status.get("reason", "")
    has_ended = status.get("phase") in ("Failed", "Succeeded")
    disrupted = [
        one
        for one in status.get("conditions") or ()
        if one.get("type") == "DisruptionTarget" and one.get("status") == "True"
    ]
    if reason in LOST_REASONS or (has_ended and disrupted):
        said = status.get("message") or (disrupted[0].get("message", "") if disrupted else "")
        return HostEnd("node_lost", f"{reason or 'disrupted'}: {said}"[:MOST_TEXT])
    if has_ended:
        states = [one.get("state", {}) for one in status.get("containerStatuses") or ()]
        codes = [one["terminated"].get("exitCode") for one in states if "terminated" in one]
        return HostEnd("exited", f"its pod is {status['phase']}, exit codes {codes}")
    if item["metadata"].get("deletionTimestamp"):
        return HostEnd("gone", "its pod is being deleted")
    return None


def find_cluster(kubeconfig: Path = KUBECONFIG, account: Path = ACCOUNT) -> Cluster:
    """Return the cluster of this pod, else of the kubeconfig. Raises Refused without one."""
    if account.is_dir():
        namespace = (account / "namespace").read_text().strip()  # plain: mounted by Kubernetes
        tls = ssl.create_default_context(cafile=str(account / "ca.crt"))
        return Cluster(IN_CLUSTER, namespace, tls, token_file=account / "token")
    file = expanded(kubeconfig)
    try:
        text = file.read_text()  # plain: the person's own
        return _of_kubeconfig(parse_yaml(text, str(file)))
    except FileNotFoundError:
        raise Refused(
            f"hosts.launcher is kubernetes, but this is no pod with a service account ({account})"
            f" and there is no {file}"
        ) from None
    except (KeyError, StopIteration, TypeError, ValueError, OSError) as error:
        raise Refused(
            f"{file}: the current context cannot be used ({type(error).__name__}: {error});"
            " needed are a server, and a token or files of a client's certificate"
        ) from None


def _of_kubeconfig(config: Any) -> Cluster:
    def named(kind: str, name: str) -> Any:
        return next(one for one in config[f"{kind}s"] if one["name"] == name)[kind]

    context = named("context", config["current-context"])
    cluster, user = named("cluster", context["cluster"]), named("user", context["user"])
    data = cluster.get("certificate-authority-data")
    tls = ssl.create_default_context(
        cafile=cluster.get("certificate-authority"),
        cadata=base64.b64decode(data).decode() if data else None,
    )
    if "client-certificate" in user:
        tls.load_cert_chain(user["client-certificate"], user["client-key"])
    elif "token" not in user:
        raise KeyError("token")
    namespace = context.get("namespace", "default")
    return Cluster(cluster["server"], namespace, tls, token=user.get("token", ""))


def _message(answer: httpx.Response) -> str:
    """Return the API's text of a refusal."""
    try:
        return str(answer.json()["message"])[:MOST_TEXT]
    except (ValueError, KeyError, TypeError):
        return answer.text[:MOST_TEXT]

"""The environment a child is given: built anew from a list, with keys for the broker alone."""

from collections.abc import Mapping

PLAIN = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR"),
        *("XDG_RUNTIME_DIR", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"),
        *("PYTHONPYCACHEPREFIX", "PYTHONWARNINGS", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    }
)
PLAIN_PREFIXES = ("LC_", "AGIRAPH_")
BROKER_SUFFIXES = ("_API_KEY", "_BASE_URL", "_AUTH_TOKEN")
BROKER_NAMES = frozenset(
    {
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
        *("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "REQUESTS_CA_BUNDLE"),
    }
)
SECRET_SUFFIXES = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
KEY_HOLDER = "broker"


def environment_for(kind: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of `environ` that a process of this kind may see.

    Provider keys and addresses reach the broker only; a variable that is named like a secret
    reaches nobody else, even if it begins with AGIRAPH_.
    """
    return {name: value for name, value in environ.items() if _may_see(kind, name)}


def _may_see(kind: str, name: str) -> bool:
    if kind == KEY_HOLDER and (name.upper() in BROKER_NAMES or name.endswith(BROKER_SUFFIXES)):
        return True
    if name.endswith((*SECRET_SUFFIXES, *BROKER_SUFFIXES)):
        return False
    return name in PLAIN or name.startswith(PLAIN_PREFIXES)

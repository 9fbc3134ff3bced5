"""The variables that commands of models see."""

from agiraph.settings.config import load_config
from agiraph.tools.shell import visible_environment


def test_command_sees_certificates_of_the_system_and_no_other_variables() -> None:
    given = {
        "PATH": "/bin",
        "PIP_CERT": "/etc/ssl/certs/ca-certificates.crt",
        "NODE_EXTRA_CA_CERTS": "/home/ann/own.pem",
        "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt",
        "OPENAI_API_KEY": "key",
    }
    assert visible_environment(given, load_config().shell) == {
        name: given[name] for name in ("PATH", "PIP_CERT", "SSL_CERT_FILE")
    }

"""The broker process's entry: the one place that reads provider keys from the environment."""

import os

from actors.broker.broker import Broker
from actors.broker.calls import Calls
from actors.broker.ledger import Ledger
from actors.broker.recorder import CallRecorder
from actors.broker.services import Services
from actors.launch import Launch
from actors.runtime import Runtime, run_actor
from agiraph.providers.prices import load_prices
from agiraph.providers.registry import load_presets
from agiraph.storage.versions import refuse_newer


async def serve(runtime: Runtime) -> None:
    """Answer model calls until told to stop."""
    home = runtime.home
    refuse_newer(home.system.doors)  # it is read when the first door opens
    presets = load_presets(home.path / "providers.yaml")
    prices = load_prices(home.path / "prices.yaml")
    services = Services(runtime.config, presets, dict(os.environ))
    with Ledger(home.system.usage) as ledger:
        is_on = runtime.config.broker.record
        recorder = CallRecorder(home.system, services.secrets(), runtime.clock, is_on=is_on)
        calls = Calls(runtime.config, services, prices, ledger, runtime.clock, recorder)
        broker = Broker(runtime, services, calls, ledger)
        try:
            await broker.serve()
        finally:
            await broker.close()
            recorder.close()


def main(launch: Launch) -> int:
    """Run the broker; return the process's exit code."""
    return run_actor(launch, serve)

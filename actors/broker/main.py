"""The entry of the broker's process: the only place that reads provider keys."""

import os

from actors.broker.broker import Broker
from actors.broker.call_recorder import CallRecorder
from actors.broker.calls import ModelCalls
from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from agiraph.llm.provider_pool import ProviderPool
from agiraph.models.prices import load_prices
from agiraph.models.registry import load_presets
from agiraph.spending.ledger import UsageLedger


async def serve(runtime: Runtime) -> None:
    """Answer model calls until the process is stopped."""
    home = runtime.home
    table = home.path / "providers.yaml"
    presets = load_presets(table)
    prices = load_prices(home.path / "prices.yaml")
    services = ProviderPool(runtime.config, presets, prices, dict(os.environ), table)
    with UsageLedger(home.system.usage) as ledger:
        is_on = runtime.config.broker.record
        recorder = CallRecorder(home.system, services.secrets(), runtime.clock, is_on=is_on)
        calls = ModelCalls(runtime.config, services, prices, ledger, runtime.clock, recorder)
        broker = Broker(runtime, services, calls)
        try:
            await broker.serve()
        finally:
            await broker.close()
            recorder.close()


def main(launch: ActorLaunch) -> int:
    """Run the broker; return the process's exit code."""
    return run_actor(launch, serve)

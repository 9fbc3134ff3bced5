import asyncio

from agiraph import Runtime, Task


async def main() -> None:
    async with Runtime("anthropic/claude-sonnet-4-5") as runtime:  # one supervisor for all of them
        tasks = [Task(f"Sum up chapter {number}", "json", timeout=600) for number in (1, 2)]
        for result in await asyncio.gather(*map(runtime.arun, tasks)):
            print(result.output["summary"])


asyncio.run(main())

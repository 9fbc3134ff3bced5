import asyncio

from agiraph import AgenticTeamMCPClient


async def main() -> None:
    client = AgenticTeamMCPClient(model="anthropic/claude-sonnet-4-5")
    result = await client.execute_task("Design a microservice architecture", on_progress=print)
    print(result.status, result.final_output)


asyncio.run(main())

"""`python -m benchmarks`: measure bus, births, deaths, stops and sleep; print ratios and aims.

`--write` also writes docs/benchmarks.md; `--quick` measures less of everything, `--full` parks a
thousand agents.
"""

import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

import click
import zmq

from benchmarks import bus, deaths, first_call, followers, recovery, spawn, teams, turns, walls
from benchmarks.figures import Figure

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
QUICK_ROUNDS = 1
QUIET_LOAD = 0.3

HEAD = """\
# Benchmarks

Written by `make bench ARGS=--write`. Each row is a ratio of Agiraph to a peer that was measured in
the same run, in turns with it, on the same machine: ratios hold better than figures, which are
another machine's as soon as you read them. An aim that was missed says so. No test asserts a time.

"""

TAIL = """\

## What is measured

- **Router** (`benchmarks/bus.py`): a source, a sink and a broker, each a process, over `ipc://`
  with 200-byte bodies and at most {in_flight} messages in flight. The peers are `zmq.proxy`, which
  runs in C and routes nothing, and a bare Python loop that reads the receiver from the header and
  sends on. A *passing* message is passed on once, as by the bare loop. A *durable* one needs three
  passes (itself, `accepted`, `done`), and with the recorder's copy five: its aim is that many
  times the bare loop's cost, with a tenth (rate) or a quarter (round trip) more for what the
  router knows and the bare loop does not; mailboxes are in memory there. *On disk* they are what
  a home has, against a passing message of the same router. {rounds} of {messages}
  messages and {trips} round trips for each broker; ratios are taken within a round, then the
  median.
- **Worker** (`benchmarks/spawn.py`): from the supervisor's wish to the worker's `child.ready`,
  with the real spawner, router and runtime, against a fresh interpreter that imports pyzmq,
  msgpack, pydantic and the two provider SDKs, which is what each worker would cost without a
  spawner and a broker. Memory is the proportional set size of {crowd} idle workers started at
  once. Idle processor time is theirs and the router's, while nothing happens but heartbeats.
- **Deaths** (`benchmarks/hand.py`, in the human gateway's place of a real supervisor): workers
  are born and killed in turns. A birth lasts from the wish, sent to the supervisor, to *ready*; a
  recovery from kill -9 until the next incarnation holds a message that was sent right after the
  kill. Both include the register's and the mailboxes' syncs. Disk is what the router of such a
  house writes, the recorder's copy included, one message at a time and with many in flight.
- **Simulated deaths** (`benchmarks/deaths.py`): a sender, a receiver and the router in one event
  loop, with the real mailboxes on disk, struck in turn between any two steps; what was not written
  or was on its way is lost with the one struck. Every message must have had its effect once, in
  order.
- **Stops** (`benchmarks/stopping.py`): a real team whose model never answers, or whose worker runs
  a shell command with a child in a session of its own; from the order over HTTP until every one
  of these processes is gone.
- **Sandbox** (`benchmarks/walls.py`): `true` as a worker's `bash` runs it, from the wish until its
  outcome is on disk, behind bubblewrap with the scope table as folders and without it, in turns.
- **Parking** (`benchmarks/parking.py`): agents made over HTTP that have nothing more to do. Memory
  is the growth of supervisor and router (resident) per parked agent; a wake lasts from the HTTP
  request until the text stands, synced, in the agent's journal.
- **Teams** (`benchmarks/teams.py`): teams of 3 and of 50 workers with ten turns each, against a
  model service in a process of its own (`benchmarks/slow_models.py`) that takes half a second for
  every call. The critical path is the coordinator's call that opens the stage, one worker's ten,
  and the coordinator's that finishes; measured from the first call to the end of the run.
- **First call** (`benchmarks/first_call.py`): from the start of an `agiraph run` with no supervisor
  on its home until the first call reaches the model service, against a fresh interpreter that
  imports one provider SDK, which is the least that any program pays before it can ask a model.
- **Turns** (`benchmarks/turns.py`): a worker and a bare loop over the provider's SDK (typed
  `create`, nothing recorded) take the same 30 turns, each a call of `write_file`, with the same
  system prompt and tools, from the same service that answers at once; a turn lasts from one request
  to the next, as the service sees them. The aim is 3 ms more than the bare loop. The broker's own
  processor time per call is read about calls 5, 30 and 200 of one conversation. *Prefix* is the
  share of all bytes sent, the first call's too, that the call before began with (cache marks taken
  out), and what Anthropic's cache would serve by its marks and rules.
- **Crowd** (`benchmarks/followers.py`): a team of three works, alone, while 200 WebSockets
  follow its events, and while a thousand calls a second are made too: of a hundred calls 40 ask for
  the agent, 20 for its board, 15 for all entities, 14 for its last twenty events, 10 for the
  conversation; one writes to another agent, so that only the measured texts reach the team. Callers
  (`benchmarks/callers.py`) and followers (`benchmarks/watchers.py`) are a process each, over plain
  sockets. A call is due when the rate says so, answered or not those before it, and every status is
  read. Of each follower's frames the number must be that of the log's events, the bytes' checksum
  that of the first follower, whose events must come with one `seq` after the other. A text is timed
  from its POST until it stands, synced, in the journal of the coordinator, which waits for its
  workers: its yield point. A worker's turn is a model call of half a second and a `write_file`. The
  command alone prints whose processor time it was, too; what one call of each kind costs the
  gateway is told by `python -m benchmarks.calls`.
- **Soak** (`benchmarks/soak.py`, by itself): the recorder's own code writes a million events of 200
  agents to disk in the batches in which the router delivers them; some come twice, and ten times
  it is opened anew. At the end every log must have each event once. Memory is the whole process's
  at its highest, the generator's share included.

## How to measure again

```
make bench                    # this table
make bench ARGS=--quick       # less of everything, in a minute or two: noisy
make bench ARGS=--full        # a thousand parked agents instead of a hundred
make bench ARGS=--write       # and write this page
python -m benchmarks.bus      # the brokers alone, all columns
python -m benchmarks.spawn    # the workers alone, all figures
python -m benchmarks.deaths   # simulated deaths alone (--kills, --seed)
python -m benchmarks.teams    # teams alone (sizes may be named)
python -m benchmarks.walls    # the sandbox alone
python -m benchmarks.first_call # the way to the first call alone
python -m benchmarks.turns    # model turns alone (--quick)
python -m benchmarks.followers # the crowd alone (--rate, --seconds, --quick, --json)
python -m benchmarks.calls    # what a call costs the gateway, by kind (--rate, --seconds)
python -m benchmarks.storm    # fifty workers in a storm of 429s: what was counted on either side
python -m benchmarks.soak     # a million events of 200 agents through the recorder (--events)
python -m benchmarks.recovery # deaths, stops and parking alone (--quick, --full)
```

Measure on a quiet machine: with other work on its cores, ratios of rates stay near and round trips
do not.
"""


@click.command()
@click.option("--quick", is_flag=True, help="Measure less of everything: noisy, a minute or two.")
@click.option("--full", is_flag=True, help="Park a thousand agents instead of a hundred.")
@click.option("--write", is_flag=True, help="Also write docs/benchmarks.md.")
def main(quick: bool, full: bool, write: bool) -> None:
    """Measure Agiraph against its peers and print the ratios."""
    load = os.getloadavg()[0]
    click.echo("measuring the router ...", err=True)
    rounds = QUICK_ROUNDS if quick else bus.ROUNDS
    figures = bus.figures(bus.run(rounds))
    click.echo("measuring the birth and weight of workers ...", err=True)
    figures += spawn.figures(result := spawn.run(is_quick=quick))
    click.echo("measuring deaths, stops and parking ...", err=True)
    figures += recovery.figures(recovery.run(is_quick=quick, is_full=full))
    click.echo("measuring the sandbox ...", err=True)
    figures += walls.figures(walls.run(is_quick=quick))
    click.echo("measuring teams and the way to the first call ...", err=True)
    figures += teams.figures(teams.run(is_quick=quick))
    figures += first_call.figures(first_call.run(is_quick=quick))
    click.echo("measuring model turns ...", err=True)
    figures += turns.figures(turns.run(is_quick=quick))
    click.echo("measuring before a crowd ...", err=True)
    figures += followers.figures(followers.run(is_quick=quick))
    click.echo("simulating deaths ...", err=True)
    figures += deaths.figures(deaths.run(deaths.QUICK_KILLS if quick else deaths.KILLS))
    click.echo(table(figures))
    if write:
        PAGE.write_text(page(figures, rounds, result.get("crowd", 0), load), encoding="utf-8")
        click.echo(f"written: {PAGE.relative_to(PAGE.parents[1])}", err=True)


def table(figures: list[Figure]) -> str:
    """Return the figures as a Markdown table, which reads well in a terminal too."""
    rows = [("what", "ratio", "aim", "", "to what", "seen here")]
    rows += [_cells(figure) for figure in figures]
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def _cells(figure: Figure) -> tuple[str, str, str, str, str, str]:
    aim = f"{figure.wanted} {figure.aim:g}"
    verdict = "met" if figure.is_met else "missed"
    return figure.what, f"{figure.ratio:.3g}", aim, verdict, figure.peer, figure.seen


def page(figures: list[Figure], rounds: int, crowd: float | int | str, load: float) -> str:
    """Return the text of docs/benchmarks.md; `load` is the load average before the measuring."""
    tail = TAIL.format(
        in_flight=bus.IN_FLIGHT,
        rounds=f"{rounds} rounds" if rounds > 1 else "one round",
        messages=f"{bus.MESSAGES:,}",
        trips=f"{bus.ROUND_TRIPS:,}",
        crowd=crowd,
    )
    seen = f"\nMeasured on {datetime.now(UTC):%Y-%m-%d}, on {machine()}. {_mood(load)}\n"
    return HEAD + table(figures) + "\n" + seen + tail


def _mood(load: float) -> str:
    if load < QUIET_LOAD:
        return f"The machine was quiet (load average {load:.1f})."
    return (
        f"The machine was busy with other work (load average {load:.1f}): these ratios are rough, "
        "those of round trips and of births most of all."
    )


def machine() -> str:
    """Return what this machine is, without its name."""
    return ", ".join(
        [
            f"{os.cpu_count()} cores ({_processor()})",
            f"{platform.system()} {platform.release().split('-')[0]}",
            f"Python {platform.python_version()}",
            f"pyzmq {zmq.pyzmq_version()} with libzmq {zmq.zmq_version()}",
        ]
    )


def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


if __name__ == "__main__":
    main()

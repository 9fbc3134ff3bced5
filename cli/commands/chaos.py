"""`agiraph chaos`: kill the processes of a working team at random; check that nothing is lost."""

import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import click

from agiraph.core.errors import InvalidInput
from cli.chaos.chaos_run import NOISE, ChaosReport, ChaosRun
from cli.chaos.full_disk import FullDiskRun, run_on_small_disk
from cli.chaos.hosts_run import HostsRun
from cli.chaos.network import run_apart
from cli.chaos.random_run import RandomModelRun
from cli.chaos.schedule import KINDS, hammer, strikes
from cli.interrupts import signals_interrupt
from cli.options.everywhere import remark
from cli.options.shared import DURATION, duration, examples, json_option
from cli.output.listing import print_json

HAMMER_SECONDS = 60.0
STRIKES = 40


@click.command(
    epilog=examples(
        "agiraph chaos",
        "agiraph chaos --kills 200 --seed 1",
        "agiraph chaos --only supervisor",
        "agiraph chaos --only router --only worker --json",
        "agiraph chaos --hammer broker --every 0.5s --for 1m",
        "agiraph chaos --full-disk --kills 20",
        "agiraph chaos --full-disk --for 150s",
        "agiraph chaos --hosts 3 --kills 60",
        "agiraph chaos --random-model 7 --kills 20",
    )
)
@click.option(
    "--kills",
    type=click.IntRange(min=0),
    show_default="40; 0 with --random-model",
    help="Number of faults.",
)
@click.option(
    "--seed", type=int, default=1, show_default=True, help="The same seed gives the same faults."
)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(KINDS),
    metavar="KIND",
    help=f"Only processes of this kind, repeatable: {', '.join(KINDS)}.",
)
@click.option(
    "--hammer",
    "hammered",
    multiple=True,
    type=click.Choice(KINDS),
    metavar="KIND",
    help="Instead of random faults: kill this kind at regular intervals; repeatable.",
)
@click.option(
    "--every",
    "every_seconds",
    type=duration(least=0.05),
    default="0.5s",
    show_default=True,
    help="With --hammer: time between two kills.",
)
@click.option(
    "--for",
    "for_seconds",
    type=DURATION,
    help="With --hammer: for how long (default: 1m). With --full-disk: fill the disk once for so "
    "long, and kill processes while it is full.",
)
@click.option(
    "--noise",
    type=click.FloatRange(0, 0.5),
    default=NOISE,
    show_default=True,
    help="Share of frames on the bus that are repeated, delayed or lost with their connection.",
)
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep both homes in this directory, to inspect them.",
)
@click.option(
    "--full-disk",
    is_flag=True,
    help="Kill nothing; fill the disk and free it again, --kills times (see also --for).",
)
@click.option(
    "--hosts",
    type=click.IntRange(1, 20),
    metavar="N",
    help="With N further machines (network namespaces) whose processes, power and links fail too.",
)
@click.option(
    "--random-model",
    type=click.IntRange(min=0),
    metavar="SEED",
    help="The team's model calls its tools at random; its run must end, with a consistent board.",
)
@click.option("--on", type=click.Path(path_type=Path), hidden=True)
@json_option("one JSON object: strikes, runs, lost, done_twice and more, verdict")
def chaos(
    kills: int | None,
    seed: int,
    only: tuple[str, ...],
    hammered: tuple[str, ...],
    every_seconds: float,
    for_seconds: float | None,
    noise: float,
    keep: Path | None,
    full_disk: bool,
    hosts: int | None,
    random_model: int | None,
    on: Path | None,
    as_json: bool,
) -> None:
    """Run a scripted team on fresh homes while its processes are killed at random.

    Faults hit workers, coordinators, the broker, the recorder, the gateway, the scheduler, the web
    reader, the router, the spawner, the supervisor, or all at once: mostly SIGKILL, sometimes a
    freeze, sometimes a partial record at the end of a journal; and the bus loses, repeats and
    delays frames. The outcome is compared with an undisturbed run: nothing may be lost or done
    twice, and every node must be published once. Exits 0 if so, else 1.

    With --hammer one kind is killed every half second for a minute; processes that wait for it must
    then continue, and the runs must end as if undisturbed.

    With --hosts the team works on this home and N machines; host processes, relays and whole
    machines are killed too, links are cut, and the network loses, delays and reorders packets.

    With --random-model there is no script: the model calls tools at random. The run must end, and
    leave a consistent board, in any case.
    """
    _refuse_together(hammered, only, full_disk, hosts, random_model)
    if kills is None:
        kills = STRIKES if random_model is None else 0
    if (full_disk or hosts) and on is None:
        words = _words_again(kills, seed, noise, for_seconds, as_json)
        sys.exit(_on_small_disk(words) if full_disk else _among_namespaces(hosts, words, keep))
    if hammered:
        schedule = hammer(hammered, every_seconds)
        kills = max(1, round((for_seconds or HAMMER_SECONDS) / every_seconds)) * len(hammered)
    else:
        schedule = strikes(seed, only or KINDS)
    with signals_interrupt(), ExitStack() as stack:
        if on is not None and hosts:
            report = HostsRun(on, hosts, seed, noise, remark).run(kills)
        elif on is not None:
            count = kills if for_seconds is None else 1
            report = FullDiskRun(on, seed, noise, remark, for_seconds).run(count)
        else:
            prefix = "agiraph-chaos-"
            folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix)))
            folder.mkdir(parents=True, exist_ok=True)  # plain: a folder that the person names
            if random_model is not None:
                sys.exit(_with_random_model(folder, random_model, kills, noise, as_json))
            report = ChaosRun(folder, schedule, noise, remark).run(kills)
    found = ({} if hammered else {"seed": seed}) | facts(report)
    print_json(found) if as_json else click.echo(table(report.strikes, found))
    sys.exit(0 if report.is_good else 1)


def _refuse_together(
    hammered: tuple[str, ...],
    only: tuple[str, ...],
    full_disk: bool,
    hosts: int | None,
    random_model: int | None,
) -> None:
    """Raise InvalidInput for options that cannot be used together."""
    if hammered and (only or full_disk):
        raise InvalidInput("--hammer cannot be used with --only or --full-disk")
    if hosts and (hammered or only or full_disk):
        raise InvalidInput("--hosts cannot be used with --hammer, --only or --full-disk")
    if random_model is not None and (hammered or only or full_disk or hosts):
        others = "--hammer, --only, --full-disk or --hosts"
        raise InvalidInput(f"--random-model cannot be used with {others}")


def _words_again(
    kills: int, seed: int, noise: float, for_seconds: float | None, as_json: bool
) -> list[str]:
    """Return the options of this command as words, for the process that runs it again."""
    words = ["--kills", str(kills), "--seed", str(seed), "--noise", str(noise)]
    words += ["--json"] if as_json else []
    return words + (["--for", f"{for_seconds}s"] if for_seconds else [])


def _with_random_model(folder: Path, seed: int, kills: int, noise: float, as_json: bool) -> int:
    """Play one run of a random model and print its report; return the exit code."""
    report = RandomModelRun(folder, seed, noise, remark).play(kills)
    if as_json:
        print_json(report.facts)
    else:
        shown = {name: value for name, value in report.facts.items() if name != "faults"}
        click.echo("\n".join([table(report.strikes, shown), *report.faults]))
    return 1 if report.faults else 0


def _on_small_disk(words: list[str]) -> int:
    """Run this command again where a small disk is mounted; return that exit code."""
    with tempfile.TemporaryDirectory(prefix="agiraph-chaos-") as folder:
        again = ("chaos", "--full-disk", "--on", folder, *words)
        return run_on_small_disk(Path(folder), [sys.executable, "-P", "-m", "agiraph", *again])


def _among_namespaces(hosts: int | None, words: list[str], keep: Path | None) -> int:
    """Run this command again in its own network namespace; return that exit code."""
    with ExitStack() as stack:
        prefix = "agiraph-chaos-"
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix)))
        folder.mkdir(parents=True, exist_ok=True)  # plain: a folder that the person names
        again = ("chaos", "--hosts", str(hosts), "--on", str(folder.resolve()), *words)
        return run_apart([sys.executable, "-P", "-m", "agiraph", *again])


def facts(report: ChaosReport) -> dict[str, object]:
    """Return a report as one JSON object of strikes, differences and recovery times."""
    return {
        "strikes": dict(sorted(report.strikes.items())),
        "runs": report.runs,
        "messages": report.messages,
        "steps": report.steps,
        **asdict(report.difference),
        "recovery_p50_seconds": _quantile(report.recoveries, 0.5),
        "recovery_p99_seconds": _quantile(report.recoveries, 0.99),
        "verdict": "good" if report.is_good else "bad",
    }


def table(strikes: Counter[str], facts: dict[str, object]) -> str:
    """Return a report as lines for people."""
    rows = [(f"  {kind}", str(count)) for kind, count in sorted(strikes.items())]
    rows = [("strikes", str(strikes.total())), *rows]
    for name, value in facts.items():
        if name != "strikes":
            shown = f"{value:.3f}" if isinstance(value, float) else str(value)
            rows.append((name.replace("_", " "), shown))
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value:>8}" for name, value in rows)


def _quantile(values: list[float], share: float) -> float | None:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None

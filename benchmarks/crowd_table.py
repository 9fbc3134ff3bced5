"""What a crowd's measurement saw, as a table for people."""

from collections.abc import Mapping

PHASES = ("alone", "followed", "crowded")
HEADS = ("alone", "followers", "and calls")
SUFFIX = "_core"

NAMED = {
    "gateway": "the gateway",
    "router": "the run: router",
    "recorder": "the run: recorder",
    "broker": "the run: broker",
    "clock": "the run: clock",
    "coordinator": "the run: coordinators",
    "worker": "the run: workers",
    "supervisor": "the run: supervisor",
    "spawner": "the run: spawner",
    "run": "the run: other processes",
    "models": "model service",
    "callers": "callers",
    "watchers": "followers' process",
    "measuring": "who measures",
    "others": "others on this machine",
}


def table(result: Mapping[str, float]) -> str:
    """Return lines that fit 80 columns."""
    return "\n".join([*_calls(result), "", *_frames(result), "", *_phases(result)])


def _calls(seen: Mapping[str, float]) -> list[str]:
    if not seen["asked_per_second"]:
        return ["no calls"]
    asked, reached = seen["asked_per_second"], seen["per_second"]
    return [
        f"calls asked a second      {asked:10,.0f}",
        f"calls answered a second   {reached:10,.1f}   over {seen['call_seconds']:.1f} s,"
        f" {seen['answers']:,.0f} in all",
        f"refused                   {seen['refusals']:10,.0f}",
        f"unanswered                {seen['unanswered']:10,.0f}",
        _latency("from sent to answered", "answer", seen),
        _latency("from due to answered", "due", seen),
        f"gateway's cpu per call    {seen['call_cpu_ms']:10.3f} ms",
    ]


def _latency(what: str, name: str, seen: Mapping[str, float]) -> str:
    median, late, last = (seen[f"{name}_{part}_ms"] for part in ("p50", "p99", "max"))
    return f"{what:<25} {median:10.1f} ms median, {late:.1f} ms p99, {last:.0f} ms at most"


def _frames(seen: Mapping[str, float]) -> list[str]:
    if not seen["followers"]:
        return ["no followers"]
    wrong = ("lost", "doubled", "out_of_order", "unlike", "cut_off")
    both = {what: seen[what] + seen[f"followed_{what}"] for what in ("frames", "events", *wrong)}
    return [
        f"followers                 {seen['followers']:10,.0f}",
        f"frames                    {both['frames']:10,.0f}"
        f"   {both['events']:,.0f} events to each follower",
        *(f"{what.replace('_', ' '):<25} {both[what]:10,.0f}{why}" for what, why in WRONG.items()),
    ]


WRONG = {
    "lost": "   frames",
    "doubled": "   frames",
    "out_of_order": "   frames of the first follower",
    "unlike": "   followers that got other bytes than the first",
    "cut_off": "   followers",
}


def _phases(seen: Mapping[str, float]) -> list[str]:
    rows = [
        ("a worker's turn", "turn_ms", "{:.0f} ms"),
        ("a text's way, median", "p50_ms", "{:.1f} ms"),
        ("a text's way, slowest", "max_ms", "{:.0f} ms"),
    ]
    lines = [f"{'':<27}" + "".join(f"{head:>14}" for head in HEADS)]
    lines += [
        _row(what, [form.format(seen[f"{p}_{key}"]) for p in PHASES]) for what, key, form in rows
    ]
    lines.append("processor, % of a core")
    parts = [part for part in NAMED if any(f"{p}_{part}{SUFFIX}" in seen for p in PHASES)]
    for part in parts:
        shares = [seen.get(f"{p}_{part}{SUFFIX}") for p in PHASES]
        lines.append(
            _row(NAMED[part], ["-" if share is None else f"{100 * share:.1f}" for share in shares])
        )
    return lines


def _row(what: str, cells: list[str]) -> str:
    return f"{what:<27}" + "".join(f"{cell:>14}" for cell in cells)

"""What the steps of all rounds show. A step is a dict with `engine`, `round`, `voices`, what the
engine said (`load`, `load_highest`, `late_share`, `cpu_share`) and `holds`.

`late_share` is the share of cycles with a miss, late blocks and skipped periods alike. Records have this name."""

import random
import statistics

# A step holds with misses in at most this share of its cycles, and this highest load.
LATE_LIMIT = 0.005
LOAD_LIMIT = 0.95
RESAMPLES = 2000
# Fewer observations give no interval.
MIN_OBSERVATIONS = 6


def holds(step):
    return step["late_share"] <= LATE_LIMIT and step["load_highest"] <= LOAD_LIMIT


def of_engine(steps, engine, rounds):
    """Load and CPU time a voice, and capacity: medians over rounds, with the lowest and highest."""
    by_round = [
        [step for step in steps if step["engine"] == engine and step["round"] == number]
        for number in range(rounds)
    ]
    by_round = [steps for steps in by_round if steps]
    return {
        "engine": engine,
        "load_a_voice": spread([a_voice(steps, "load") for steps in by_round]),
        "cpu_a_voice": spread([a_voice(steps, "cpu_share") for steps in by_round]),
        "capacity": spread([capacity(steps) for steps in by_round]),
    }


def a_voice(steps, key):
    """Median over the steps that hold; over all where none does."""
    counted = [step for step in steps if step["holds"]] or steps
    return statistics.median(step[key] / step["voices"] for step in counted)


def capacity(steps):
    """The largest number of voices that held; 0: none."""
    return max((step["voices"] for step in steps if step["holds"]), default=0)


def spread(values):
    if not values:
        return None
    return {"median": statistics.median(values), "lowest": min(values), "highest": max(values)}


def efficiency(steps, one, two, workers, seed=1):
    """Load on one worker by `workers` times the load on several, at the same number of voices in the
    same round: median with its 95 % interval. None where no two steps match."""
    loads = {
        (step["engine"], step["round"], step["voices"]): step["load"]
        for step in steps if step["holds"]
    }
    ratios = [
        load / (workers * loads[two, number, voices])
        for (engine, number, voices), load in loads.items()
        if engine == one and (two, number, voices) in loads
    ]
    if not ratios:
        return None
    interval = bootstrap(ratios, seed) if len(ratios) >= MIN_OBSERVATIONS else None
    return {
        "one": one, "several": two, "ratio": statistics.median(ratios), "interval_95": interval,
        "observations": len(ratios),
    }


def bootstrap(values, seed):
    """Percentile interval of the median."""
    draw = random.Random(seed)
    medians = sorted(
        statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES)
    )
    return [medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES) - 1]]


def table(record):
    """Lines of text."""
    percent = lambda s: f"{100 * s['median']:.3f} ({100 * s['lowest']:.3f}-{100 * s['highest']:.3f})"
    count = lambda s: f"{s['median']:g} ({s['lowest']}-{s['highest']})"
    yield f"{'engine':<18} {'load a voice, %':<22} {'CPU time a voice, %':<22} {'capacity':<16} at 95 %"
    for row in record["engines"]:
        load, cpu = percent(row["load_a_voice"]), percent(row["cpu_a_voice"])
        at_limit = int(LOAD_LIMIT / row["load_a_voice"]["median"])
        yield f"{row['engine']:<18} {load:<22} {cpu:<22} {count(row['capacity']):<16} {at_limit}"
    for row in filter(None, record["efficiency"]):
        range_ = interval(row["interval_95"])
        yield f"{row['one']} / (2 x {row['several']}): {row['ratio']:.3f} {range_}"
    for row in record["pairs"]:
        range_ = interval(row["interval_95"])
        yield f"hocket, {row['voices']} voices, two workers by one: {row['two_by_one']:.3f} {range_}"


def interval(ends):
    return f"[{ends[0]:.3f}, {ends[1]:.3f}]" if ends else "(too few for an interval)"

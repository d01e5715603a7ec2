"""Rules that are written to harm: bombs in YAML and CEL, and files that change many times a second."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from lab.attacks import probe
from lab.attacks.attack import Attack, Line, Sidecar, Stage
from lab.processes.service import PLAIN
from lab.processes.usage import anonymous_mib, cpu_seconds

MOST_MIB = 64.0
SECONDS, SHORT_SECONDS = 60.0, 8.0
BUSIEST = 0.25
"""Part of a core that a storm of reloads may take, beside the scrapes meanwhile."""
_RULE = """\
id: {name}
title: A rule
severity: info
confidence: 0.5
applies: {{}}
needs: [variables]
{keys}
when: ["{when}"]
summary: It fires.
evidence: [{{name: n, value: 1, source: s}}]
action: [{{do: nothing}}]
why: It is there.
references: [none]
"""
LAUGHS = "\n".join(
    ["a:", "  - &l0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    + [f"  - &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 10)]
)
BOMBS = {
    "billion laughs": LAUGHS,
    "huge": "a: " + "x" * (100 << 20),
    "huge scalar": _RULE.format(name="bomb", keys="", when="window.seconds > " + "1.0 + " * 20_000 + "1.0"),
    "nested loops": _RULE.format(
        name="bomb", keys="", when="[1.0].all(a, [1.0].all(b, [1.0].all(c, [1.0].all(d, d > 0.0))))"
    ),
    "doubled texts": _RULE.format(name="bomb", keys="let: {a: server.version + server.version}", when="a == ''"),
}
"""Each is refused, with the file's name."""
SLOW = {
    "slow-let": _RULE.format(
        name="slow-let",
        keys="budget_seconds: 0.000001\nlet:\n"
        + "\n".join(f"  a{n}: {f'a{n - 1}' if n else 'window.seconds'} * 1.5" for n in range(99)),
        when="a98 > 0.0",
    ),
    "broken-let": _RULE.format(name="broken-let", keys="let: {a: double(server.version)}", when="a > 0.0"),
    "backtracking": _RULE.format(name="backtracking", keys="", when="server.version.matches('(([0-9]+)+[.]?)+x')"),
    "fires": _RULE.format(name="fires", keys="", when="window.seconds > 0.0"),
}
"""Each loads; only the last one has advice to give."""


def _bombs(stage: Stage) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder)
        for name, text in SLOW.items():
            (rules / f"{name}.yaml").write_text(text)
        with stage.sidecar("--rules", folder, "--interval", "1s") as sidecar:
            before = probe.idle(sidecar, 5.0)
            yield from _advice(sidecar)
            highest, refused = 0.0, []
            with probe.probing(sidecar) as measured:
                for name, text in BOMBS.items():
                    stage.say(f"rules: {name}")
                    bomb = rules / "bomb.yaml"
                    bomb.write_text(text)
                    answer = _reload(sidecar)
                    if answer.status_code == httpx.codes.BAD_REQUEST and str(bomb) in answer.text:
                        refused.append(name)
                    highest = max(highest, anonymous_mib(sidecar.pid))
                    bomb.unlink()
                    time.sleep(1.0 if stage.short else 6.0)  # so that the limit of reloads lets each through
            yield Line("bombs refused by name", f"{len(BOMBS)}", f"{len(refused)}", len(refused) == len(BOMBS))
            yield from probe.lines(before, measured.latencies, short=stage.short)
            yield Line("anonymous memory", f"≤ {MOST_MIB:g} MiB", f"{highest:.1f} MiB", highest <= MOST_MIB)


def _advice(sidecar: Sidecar) -> Iterator[Line]:
    """One rule over its time leaves the others their advice."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = httpx.get(f"{sidecar.url}/advise", timeout=60, headers={"Accept": "application/json"}, **PLAIN).json()
        fired = {each["rule"] for each in found.get("recommendations", ())}
        spoiled = {each["rule"] for key in ("blind", "failed") for each in found.get(key, ())}
        if "fires" in fired and {"slow-let", "broken-let"} <= spoiled:
            break
        time.sleep(1)
    named = sorted(spoiled & {"slow-let", "broken-let"})
    yield Line("rules over their time or broken, by name", "2", f"{len(named)}", len(named) == 2)
    yield Line("advice of the rule beside them", "there", "there" if "fires" in fired else "none", "fires" in fired)


def _reload(sidecar: Sidecar) -> httpx.Response:
    return httpx.post(f"{sidecar.url}/-/reload", timeout=60, **PLAIN)


def _storm(stage: Stage) -> Iterator[Line]:
    seconds = SHORT_SECONDS if stage.short else SECONDS
    with tempfile.TemporaryDirectory() as folder:
        rule = Path(folder) / "fires.yaml"
        rule.write_text(SLOW["fires"])
        with stage.sidecar("--rules", folder) as sidecar:
            began, cpu = time.monotonic(), cpu_seconds(sidecar.pid)
            before = probe.idle(sidecar, 5.0)
            usual = (cpu_seconds(sidecar.pid) - cpu) / (time.monotonic() - began)
            while _reload(sidecar).status_code != httpx.codes.TOO_MANY_REQUESTS:
                pass  # the burst that a person may need
            began, cpu, count = time.monotonic(), cpu_seconds(sidecar.pid), 0
            with probe.probing(sidecar) as measured:
                while time.monotonic() < began + seconds:
                    count += 1
                    rule.write_text(SLOW["fires"].replace("It fires.", f"It fires {count}."))
                    _reload(sidecar)
                    time.sleep(0.02)
            busy = (cpu_seconds(sidecar.pid) - cpu) / (time.monotonic() - began)
            mib = anonymous_mib(sidecar.pid)
            yield from probe.lines(before, measured.latencies, short=stage.short)
            bound, took = f"{usual:.2f} as before it + {BUSIEST:g}", f"{busy:.2f}, {count} changes and reloads"
            yield Line("of a core", bound, took, busy <= usual + BUSIEST)
            yield Line("anonymous memory", f"≤ {MOST_MIB:g} MiB", f"{mib:.1f} MiB", mib <= MOST_MIB)


ATTACKS = (
    Attack("rule-bombs", "bombs in YAML and CEL; slow and broken rules beside a good one", _bombs, (75.0, 25.0)),
    Attack("reload-storm", "rules change and are loaded again many times a second", _storm, (75.0, 20.0)),
)

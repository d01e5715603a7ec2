import pytest

from exporter.collectors.parallel_readers import PARALLEL_READERS
from exporter.collectors.status import STATUS
from exporter.collectors.variables import VARIABLES
from exporter.rows import Rows
from exporter.sampling.assembly import STALE_SECONDS, Answer, Assembler
from exporter.server import identify
from exporter.snapshot import Failure

SERVER = identify({"version": "9.7.4", "performance_schema": "ON"})
UPTIME = (Rows.of(["Variable_name", "Value"], [["Uptime", "7"]]),)
SETTINGS = (Rows.of(["Variable_name", "Value"], [["innodb_old_blocks_pct", "37"]]),)
THREADS = (Rows.of(["threads"], [[4]]),)


@pytest.fixture
def assembler() -> Assembler:
    return Assembler(SERVER, "watcher@%")


def test_at_first_nothing_is_known(assembler: Assembler) -> None:
    snapshot = assembler.snapshot(5.0)
    assert (snapshot.at, snapshot.server, snapshot.account) == (5.0, SERVER, "watcher@%")
    assert snapshot.outcomes == {}
    assert snapshot[STATUS] is None
    assert snapshot.setting("innodb_old_blocks_pct") is None


def test_an_answer_makes_a_section_and_an_outcome(assembler: Assembler) -> None:
    assembler.take(Answer("status", 3.0, 0.5, UPTIME))
    assembler.take(Answer("variables", 3.5, 0.25, SETTINGS))
    snapshot = assembler.snapshot(5.0)
    assert snapshot[STATUS] == {"uptime": 7.0}
    assert snapshot.setting("innodb_old_blocks_pct") == "37"
    assert snapshot.setting("innodb_parallel_read_threads") is None
    outcome = snapshot.outcomes["status"]
    assert (outcome.at, outcome.seconds, outcome.failure, outcome.reason, outcome.cure) == (3.0, 0.5, None, "", None)


def test_a_source_that_failed_last_time_is_unknown_and_not_stale(assembler: Assembler) -> None:
    assembler.take(Answer("status", 3.0, 0.5, UPTIME))
    assembler.take(Answer("status", 4.0, 0.5, (), "deadline", "too slow"))
    snapshot = assembler.snapshot(5.0)
    assert snapshot[STATUS] is None
    assert (snapshot.outcomes["status"].failure, snapshot.outcomes["status"].reason) == ("deadline", "too slow")
    assembler.take(Answer("status", 6.0, 0.5, UPTIME))
    assert assembler.snapshot(7.0)[STATUS] == {"uptime": 7.0}


@pytest.mark.parametrize("failure", ["deadline", "failed"])
def test_a_scrape_gets_the_last_value_for_a_limited_time(assembler: Assembler, failure: Failure) -> None:
    assembler.take(Answer("variables", 10.0, 0.5, SETTINGS))
    assembler.take(Answer("variables", 40.0, 6.0, (), failure, "too slow"))
    served = assembler.snapshot(50.0, stale=True)
    assert served.setting("innodb_old_blocks_pct") == "37"
    assert served.read_at == {"variables": 10.0}
    assert served.outcomes["variables"].failure == failure
    assert assembler.snapshot(50.0)[VARIABLES] is None
    assert assembler.snapshot(50.0).read_at == {}
    assert assembler.snapshot(10.0 + STALE_SECONDS, stale=True)[VARIABLES] is not None
    assert assembler.snapshot(10.1 + STALE_SECONDS, stale=True)[VARIABLES] is None
    assert assembler.snapshot(9.9, stale=True)[VARIABLES] is None  # the clock was set back: nobody knows how old it is


@pytest.mark.parametrize("by", [3600.0, -3600.0])
def test_setting_the_clock_does_not_age_a_section(assembler: Assembler, by: float) -> None:
    assembler.take(Answer("variables", 10_000.0, 0.5, SETTINGS))
    assembler.take(Answer("status", 10_002.0 + by, 0.5, UPTIME))  # after it was set
    assembler.clock_set(10_003.0 + by, by)
    assert assembler.snapshot(10_003.0 + by).read_at == {"variables": 10_000.0 + by, "status": 10_002.0 + by}


@pytest.mark.parametrize("failure", ["privilege", "disabled", "absent", "unreadable"])
def test_a_source_that_is_gone_for_good_is_not_served(assembler: Assembler, failure: Failure) -> None:
    assembler.take(Answer("variables", 10.0, 0.5, SETTINGS))
    assembler.take(Answer("variables", 11.0, 0.5, (), failure, "no"))
    assert assembler.snapshot(12.0, stale=True)[VARIABLES] is None


def test_a_quick_source_is_never_stale(assembler: Assembler) -> None:
    assembler.take(Answer("status", 10.0, 0.5, UPTIME))
    assembler.take(Answer("status", 11.0, 0.5, (), "deadline", "too slow"))
    assert assembler.snapshot(12.0, stale=True)[STATUS] is None


@pytest.mark.parametrize(
    "results",
    [(), (Rows.of([], []),), (Rows.of(["Variable_name", "Value"], [["Threads_running", "1"]]),)],
    ids=["no result", "no rows", "no uptime"],
)
def test_an_answer_that_cannot_be_parsed_fails_its_collector_and_no_other(
    assembler: Assembler, results: tuple[Rows, ...]
) -> None:
    assembler.take(Answer("variables", 3.0, 0.5, SETTINGS))
    assembler.take(Answer("status", 3.0, 0.5, results))
    snapshot = assembler.snapshot(5.0)
    assert snapshot[STATUS] is None
    assert snapshot.outcomes["status"].failure == "unreadable"
    assert snapshot.outcomes["status"].reason.startswith("cannot parse the answer: ")
    assert snapshot[VARIABLES] is not None


def test_an_equal_answer_gives_the_same_object(assembler: Assembler) -> None:
    assembler.take(Answer("status", 3.0, 0.5, UPTIME))
    first = assembler.snapshot(3.0)
    assembler.take(Answer("status", 4.0, 0.5, (Rows.of(["Variable_name", "Value"], [["Uptime", "7"]]),)))
    second = assembler.snapshot(4.0)
    assert second[STATUS] is first[STATUS]
    assert second.outcomes["status"].at == 4.0


def test_a_later_answer_does_not_change_a_snapshot(assembler: Assembler) -> None:
    assembler.take(Answer("status", 3.0, 0.5, UPTIME))
    snapshot = assembler.snapshot(3.0)
    assembler.take(Answer("status", 4.0, 0.5, (), "failed"))
    assert snapshot[STATUS] == {"uptime": 7.0}
    assert snapshot.outcomes["status"].failure is None


def test_samples_of_the_readers_are_summed(assembler: Assembler) -> None:
    for at in (3.0, 3.5, 4.0):
        assembler.take(Answer("parallel_readers", at, 0.0, THREADS))
    section = assembler.snapshot(5.0)[PARALLEL_READERS]
    assert section is not None
    assert (section.threads, section.thread_seconds, section.reads_observed) == (4, 4.0, 1)


def test_readers_that_could_not_be_sampled_are_unknown(assembler: Assembler) -> None:
    assembler.take(Answer("parallel_readers", 3.0, 0.0, THREADS))
    assembler.take(Answer("parallel_readers", 3.5, 0.0, (), "failed", "gone"))
    assert assembler.snapshot(5.0)[PARALLEL_READERS] is None

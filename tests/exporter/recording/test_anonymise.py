import asyncio
import gzip
import json
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from exporter.anonymisation import plain_version, plain_words
from exporter.collectors import COLLECTORS, OPTIONAL
from exporter.collectors.parallel_readers import PARALLEL_READERS
from exporter.collectors.variables import VARIABLES
from exporter.connection.target import Target
from exporter.recording.anonymise import AnonymousRecorder
from exporter.recording.file import Recorder, replay
from exporter.rows import Rows
from exporter.sampling.assembly import Answer
from exporter.sampling.sampler import Sampler
from exporter.server import Server, identify
from exporter.snapshot import Index, Snapshot, Table
from lab.captures import Capture, all_captures
from lab.servers import PrivateServer
from tests.waiting import until

PSEUDONYM = re.compile(
    r"(?:#sql)?(?:schema|table|partition|index|column|user|host)_[0-9a-f]{8}(?:#p#partition_[0-9a-f]{8}|,column_[0-9a-f]{8})*"
)
SERVERS_OWN = {
    "mysql",
    "sys",
    "information_schema",
    "performance_schema",
    "",
    "...",  # for a name that is too long for a digest
    "PRIMARY",
    "FTS_DOC_ID",
    "FTS_DOC_ID_INDEX",
    "GEN_CLUST_INDEX",
}


def again(source: Path, to: Recorder) -> None:
    """Record a recording's answers again."""
    last: dict[str, tuple[Rows, ...]] = {}
    with to:
        for line in map(json.loads, content(source).rstrip("\n").split("\n")):
            if "server" in line:
                to.session(identify(line["server"]), line["account"])
            elif "answer" in line:
                to.answer(read(line, last))
            elif "collection" in line:
                to.collection(line["collection"])


def read(line: Mapping[str, Any], last: dict[str, tuple[Rows, ...]]) -> Answer:
    name = line["answer"]
    if "failure" in line:
        return Answer(name, line["at"], line["seconds"], (), line["failure"], line["reason"], line["cure"])
    if "results" in line:
        last[name] = tuple(Rows.of(result["columns"], result["rows"]) for result in line["results"])
    return Answer(name, line["at"], line["seconds"], last[name])


def content(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()


class Translation:
    """The pseudonym of each name, from two snapshots that are otherwise equal."""

    def __init__(self) -> None:
        self.named: dict[str, str] = {}

    def same(self, plain: Any, anonymous: Any, where: str = "snapshot") -> None:
        if isinstance(plain, Mapping):
            assert len(plain) == len(anonymous), where
            for (key, item), (other_key, other) in zip(plain.items(), anonymous.items(), strict=True):
                self.name(key, other_key, where)
                self.same(item, other, f"{where}[{key}]")
        elif isinstance(plain, Table):
            self.name(plain, anonymous, where)
        elif isinstance(plain, frozenset):
            assert len(plain) == len(anonymous), where
            assert not plain & anonymous, where
            assert {self.translated(table) for table in plain} - {None} <= anonymous, where
        elif is_dataclass(plain):
            assert type(plain) is type(anonymous), where
            for field in fields(plain):
                self.same(getattr(plain, field.name), getattr(anonymous, field.name), f"{where}.{field.name}")
        elif isinstance(plain, tuple):
            assert len(plain) == len(anonymous), where
            for n, (one, other) in enumerate(zip(plain, anonymous, strict=True)):
                if isinstance(one, str):  # names of columns
                    self.note("column", one, other, where)
                else:
                    self.same(one, other, f"{where}[{n}]")
        else:
            assert (type(plain), plain) == (type(anonymous), anonymous), where

    def name(self, plain: str | Table | Index, anonymous: Any, where: str) -> None:
        if isinstance(plain, str):  # of a setting and the like
            assert plain == anonymous, where
            return
        for field in fields(plain):
            self.note(field.name, getattr(plain, field.name), getattr(anonymous, field.name), where)

    def translated(self, table: Table) -> Table | None:
        """The table under its pseudonyms; None for one that no section before had."""
        schema, name = self.named.get(f"schema {table.schema}"), self.named.get(f"table {table.table}")
        return None if schema is None or name is None else Table(schema, name)

    def note(self, kind: str, name: str, pseudonym: str, where: str) -> None:
        assert PSEUDONYM.fullmatch(pseudonym) or name == pseudonym, (where, name, pseudonym)
        if name == pseudonym:
            assert name in SERVERS_OWN or name.startswith("SYS_"), (where, name)
        assert self.named.setdefault(f"{kind} {name}", pseudonym) == pseudonym, (where, name)


def essence(snapshot: Snapshot, like: Snapshot) -> Snapshot:
    """A snapshot without the parts that may differ: account, the owner's words, settings that nothing reads."""
    known = like[VARIABLES]
    variables = snapshot[VARIABLES]
    if known is not None and variables is not None:
        variables = {name: value for name, value in variables.items() if name in known and name != "version_comment"}
    outcomes = {
        name: replace(outcome, reason=outcome.reason and "…", cure=outcome.cure and "…")
        for name, outcome in snapshot.outcomes.items()
    }
    server = replace(snapshot.server, comment="")
    plain = replace(snapshot, server=server, account="", outcomes=outcomes)
    return plain.with_section(VARIABLES, variables)


def compare(plain: list[Snapshot], anonymous: list[Snapshot]) -> Translation:
    assert len(plain) == len(anonymous)
    assert plain
    translation = Translation()
    for one, other in zip(plain, anonymous, strict=True):
        translation.same(essence(one, other), essence(other, other))
    return translation


USUAL = {"change-buffer-merges", "counted-without-index", "emptied-file", "index-builds", "outdated-statistics"}
USUAL |= {"parallel-count", "repeated-scan", "unprivileged"}
"""Scenarios that have every collector's names among them."""


@pytest.mark.parametrize(
    "capture",
    [
        pytest.param(capture, id=str(capture), marks=() if capture.scenario in USUAL else pytest.mark.thorough)
        for capture in all_captures()
    ],
)
def test_a_replay_gives_the_same_snapshots_but_for_the_names(capture: Capture, tmp_path: Path) -> None:
    path = tmp_path / "anonymous.jsonl.gz"
    again(capture.recording, AnonymousRecorder(path))
    translation = compare(list(replay(capture.recording)), list(replay(path)))
    text = PSEUDONYM.sub("", content(path))
    for kind_and_name in translation.named:
        name = kind_and_name.partition(" ")[2]
        if name not in SERVERS_OWN and not name.startswith("SYS_"):
            assert not re.search(rf"(?<![a-z_]){re.escape(name)}(?![a-z_])", text) or name in OF_THE_SERVER_TOO, name
    assert not re.search("nobody|root|db1|/usr|/tmp|ib_buffer_pool", text)


OF_THE_SERVER_TOO = {"id", "events", "text"}
"""Names in the captures that are also words of the server's own texts."""


def test_every_collector_is_known(tmp_path: Path) -> None:
    path = tmp_path / "anonymous.jsonl"
    names = [collector.name for collector in (*COLLECTORS, *OPTIONAL, PARALLEL_READERS)]
    with AnonymousRecorder(path) as recorder:
        recorder.session(SERVER, "a@b")
        for name in names:
            recorder.answer(Answer(name, 1.0, failure="failed", reason="secret"))
    assert re.findall(r'"answer":"(\w+)"', path.read_text()) == names


SERVER = identify({"version": "9.7.4", "version_comment": "(Debian)", "performance_schema": "ON"})


@pytest.fixture
def anonymised(tmp_path: Path) -> Any:
    """The lines after the first of a recording of a server, an account and answers."""

    def tell(*answers: Answer, server: Server = SERVER, account: str = "watcher@%") -> list[dict[str, Any]]:
        path = tmp_path / "anonymous.jsonl"
        with AnonymousRecorder(path) as recorder:
            recorder.session(server, account)
            for answer in answers:
                recorder.answer(answer)
        return [json.loads(line) for line in path.read_text().splitlines()[1:-1]]

    return tell


def rows(collector: str, columns: list[str], *values: tuple[Any, ...]) -> Answer:
    return Answer(collector, 1.0, 0.0, (Rows.of(columns, values),))


def test_pseudonyms_are_others_in_each_recording(anonymised: Any) -> None:
    scans = rows(
        "table_scans", ["object_schema", "object_name", "count_fetch"], ("shop", "orders", 7), ("shop", "b", 7)
    )
    first, second = anonymised(scans)[1], anonymised(scans)[1]
    assert first != second
    (schema, table, _), (same, other, _) = first["results"][0]["rows"]
    assert (schema == same, table == other, schema == table) == (True, False, False)


def test_partitions_stay_partitions_and_internal_columns_and_indexes_what_they_are(anonymised: Any) -> None:
    columns = ["database_name", "table_name", "index_name", "pages", "longest_prefix"]
    answer = rows(
        "index_sizes",
        columns,
        ("shop", "orders#P#p2024#SP#s1", "PRIMARY", 1, "n_diff_pfx02 id,day"),
        ("shop", "orders#P#p2025#SP#s1", "by_day", 1, "n_diff_pfx02 day,id"),
        ("shop", "log", "GEN_CLUST_INDEX", 1, "n_diff_pfx01 DB_ROW_ID"),
    )
    first, second, third = anonymised(answer)[1]["results"][0]["rows"]
    assert first[1].partition("#p#")[0] == second[1].partition("#p#")[0]
    assert first[1] != second[1]
    assert (first[2], third[2], third[4]) == ("PRIMARY", "GEN_CLUST_INDEX", "n_diff_pfx01 DB_ROW_ID")
    assert first[4].removeprefix("n_diff_pfx02 ").split(",") == second[4].removeprefix("n_diff_pfx02 ").split(",")[::-1]


def test_only_counts_of_whole_tables_are_kept_of_the_digests(anonymised: Any) -> None:
    columns = ["schema_name", "digest_text", "executions", "picoseconds", "rows_examined"]
    texts = (
        "`secret`",
        "`shop` . `secret` FORCE INDEX ( PRIMARY )",
        "`secret` WHERE `secret` = ?",
        "`a` JOIN `secret`",
    )
    answer = rows(
        "count_statements", columns, *(("shop", f"SELECT COUNT ( * ) FROM {text}", 5, 6, 7) for text in texts)
    )
    recorded = anonymised(answer)[1]["results"][0]["rows"]
    assert [row[2:] for row in recorded] == [[5, 6, 7]] * 2
    assert [PSEUDONYM.sub("?", row[1]) for row in recorded] == [
        "SELECT COUNT ( * ) FROM `?` . `?`",
        "SELECT COUNT ( * ) FROM `?` . `?` FORCE INDEX ( PRIMARY )",
    ]


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("innodb_old_blocks_pct", "37", "37"),
        ("innodb_change_buffering", "all", "all"),
        ("innodb_flush_method", "O_DIRECT", "O_DIRECT"),
        ("super_read_only", "OFF", "OFF"),
        ("datadir", "/srv/acme/", None),
        ("hostname", "acme7", None),
        ("port", "3306", None),
        ("innodb_ft_server_stopword_table", "acme/words", None),
        ("innodb_buffer_pool_filename", "acme_pool", None),
        ("server_uuid", "0a1b", None),
        ("version", "8.0.36-acme3-log", "8.0.36-log"),
        ("version_comment", "Built by Acme, MySQL Community Server", "MySQL Community Server"),
    ],
)
def test_settings_are_kept_and_names_are_not(anonymised: Any, name: str, value: str, kept: str | None) -> None:
    recorded = anonymised(rows("variables", ["Variable_name", "Value"], (name, value)))[1]["results"][0]["rows"]
    assert recorded == ([] if kept is None else [[name, kept]])


@pytest.mark.parametrize(
    ("answer", "device", "filesystem"),
    [(("vda", "ext4"), "vda", "ext4"), (("nvme0n1, md_acme", "fuse.acmefs"), "nvme0n1, disk", "other")],
    ids=str,
)
def test_only_kernel_names_of_disks_are_kept(
    anonymised: Any, answer: tuple[str, str], device: str, filesystem: str
) -> None:
    source = f"the data folder is on {answer[1]}, whose block device cannot be told"
    said = {"device": answer[0], "filesystem": answer[1], "device_source": source}
    recorded = dict(anonymised(rows("machine", ["name", "value"], *said.items()))[1]["results"][0]["rows"])
    assert (recorded["device"], recorded["filesystem"]) == (device, filesystem)
    assert "acme" not in recorded["device_source"]


@pytest.mark.parametrize(
    ("version", "plain"),
    [
        ("9.7.4-2", "9.7.4-2"),
        ("5.5.5-10.11.18-MariaDB-1:10.11.18+maria~ubu2204-log", "5.5.5-10.11.18-MariaDB-1:10.11.18+maria~ubu2204-log"),
        ("8.0.36-28.1-acme", "8.0.36-28.1"),
        ("5.7.25-google-log", "5.7.25-google-log"),
    ],
)
def test_a_version_keeps_the_suffixes_that_are_known(version: str, plain: str) -> None:
    assert plain_version(version) == plain


def test_a_comment_keeps_who_built_the_server() -> None:
    assert plain_words("MySQL Community Server (GPL)") == "MySQL Community Server (GPL)"
    assert plain_words("Percona Server (GPL), Release 28, Revision 47601f19") == "Percona Server GPL Release"
    assert plain_words("acme's own") == ""


def test_a_refusal_names_no_account_and_no_host(anonymised: Any) -> None:
    answer = Answer(
        "index_sizes",
        1.0,
        0.0,
        (),
        "privilege",
        "SELECT command denied to user 'acme'@'acme7' for table 'innodb_index_stats'",
        "GRANT SELECT ON mysql.innodb_index_stats TO 'ac''me TO x'@'10.1.%'",
    )
    session, refused = anonymised(answer, account="ac'me TO x@10.1.%")
    user, host = session["account"].split("@")
    assert PSEUDONYM.fullmatch(user)
    assert PSEUDONYM.fullmatch(host)
    assert refused["cure"] == f"GRANT SELECT ON mysql.innodb_index_stats TO '{user}'@'{host}'"
    assert "acme" not in json.dumps(refused)


# Real servers

SECRET = "Geheim"
"""A part of every name and statement of the owner's, and of nothing else."""
SCHEMA, INDEX, COLUMN, PARTITION, USER = (
    "Geheimschema ☂",
    "Geheimindex",
    "Geheim,spalte ☃",
    "Geheimteil",
    "geheimnutzer",
)
TABLE, PARTITIONED = 'Geheim "büro"\'s ☃`, %s\\n', "Geheim" * 10 + "_7x9"
SAID = "Geheimsatz"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@pytest.fixture
def with_odd_names(server: PrivateServer, ask: Any) -> Iterator[PrivateServer]:
    """A server with awkward names, and an account that may read them."""
    odd, partitioned = (f"{quoted(SCHEMA)}.{quoted(table)}" for table in (TABLE, PARTITIONED))
    account, key = f"{USER}@'127.0.0.1'", f"KEY {quoted(INDEX)} ({quoted(COLUMN)})"
    values = ", ".join(f"({n}, {n})" for n in range(1, 200))
    ask(
        server,
        f"CREATE DATABASE {quoted(SCHEMA)} CHARACTER SET utf8mb4",
        f"CREATE TABLE {odd} (id INT PRIMARY KEY, {quoted(COLUMN)} INT, {key}) ENGINE=InnoDB",
        f"CREATE TABLE {partitioned} (id INT, {quoted(COLUMN)} INT, {key}) ENGINE=InnoDB"
        f" PARTITION BY HASH (id) (PARTITION {quoted(PARTITION)}, PARTITION q)",
        *(f"INSERT INTO {table} VALUES {values}" for table in (odd, partitioned)),
        f"ANALYZE TABLE {odd}, {partitioned}",
        f"CREATE USER {account}",
        f"GRANT PROCESS ON *.* TO {account}",
        *(f"GRANT SELECT ON {what} TO {account}" for what in ("performance_schema.*", "mysql.innodb_index_stats")),
    )
    yield server
    ask(server, f"DROP DATABASE {quoted(SCHEMA)}", f"DROP USER {account}")


def printed_as_waiting(status: str) -> bool:
    return "LOCK WAIT" in status and SAID in status


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8", "mariadb-10.11"], indirect=True)
async def test_a_recording_of_a_real_server_names_nothing_of_its_owners(
    with_odd_names: PrivateServer, tmp_path: Path, ask: Any, watch: Callable[..., Sampler]
) -> None:
    plain, anonymous = tmp_path / "plain.jsonl", tmp_path / "anonymous.jsonl"
    table = f"{quoted(SCHEMA)}.{quoted(TABLE)}"
    target = Target(host=with_odd_names.host, port=with_odd_names.port, user=USER)
    with with_odd_names.connect(charset="utf8mb4") as other, other.cursor() as cursor, Recorder(plain) as recorder:
        cursor.execute("BEGIN")
        cursor.execute(f"SELECT * FROM {table} WHERE id = 1 FOR UPDATE")
        # Waits for that lock, so that SHOW ENGINE INNODB STATUS prints the statement.
        update = f"UPDATE {table} SET {quoted(COLUMN)} = 0 WHERE id = 1 /* {SAID} */"
        patient = "SET SESSION innodb_lock_wait_timeout = 1000"
        waiting = asyncio.create_task(asyncio.to_thread(ask, with_odd_names, patient, update))
        sampler = watch(target, interval=0.001, keep=recorder, collectors=(*COLLECTORS, *OPTIONAL))
        try:
            await until(lambda: printed_as_waiting(ask(with_odd_names, "SHOW ENGINE INNODB STATUS")[0][2]))
            for _ in range(3):
                count = f"SELECT COUNT(*) FROM {table} FORCE INDEX (PRIMARY)"
                await asyncio.to_thread(ask, with_odd_names, count, f"SELECT * FROM {table}")
                await sampler.collect()
        finally:
            cursor.execute("ROLLBACK")
            await waiting
            await sampler.close()
    again(plain, AnonymousRecorder(anonymous))
    seen = list(replay(plain))
    compare(seen, list(replay(anonymous)))
    assert {outcome.failure for outcome in seen[-1].outcomes.values()} <= {None, "absent"}
    held, anonymised = content(plain).lower(), content(anonymous).lower()
    for name in (SCHEMA, TABLE, PARTITIONED, INDEX, COLUMN, PARTITION, USER, SAID, str(with_odd_names.datadir)):
        assert json.dumps(name, ensure_ascii=False)[1:-1].lower() in held, name
    for name in (SECRET, "☂", "☃", "büro", socket.gethostname(), str(with_odd_names.datadir.parent)):
        assert name.lower() not in anonymised, name

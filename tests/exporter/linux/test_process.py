import os
import socket
from pathlib import Path

import pytest

from exporter.connection.target import Peer
from exporter.linux import process
from tests.exporter.trees import MYSQLD, Tree

SERVER, CLIENT = ("127.0.0.1", 3306), ("127.0.0.1", 50000)
PEER = Peer(own=CLIENT, port=3306)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_the_server_holds_the_other_end_of_the_connection(tree: Tree) -> None:
    tree.process(1, "/sbin/init\0")
    for pid, inode in ((40, 4040), (41, 4141)):
        tree.process(pid)
        tree.connection(pid, SERVER, CLIENT, inode=4141)  # one network: both see it
        tree.opened(pid, inode, inode + 1)
    assert process.find(tree.root, PEER, 3306) == 41


def test_another_server_on_this_machine_is_not_taken_for_a_remote_one(tree: Tree) -> None:
    tree.process(40)
    tree.connection(40, SERVER, ("127.0.0.1", 50001), inode=4040)
    tree.opened(40, 4040)
    assert process.find(tree.root, PEER, 3306) is None
    assert process.find(tree.root, Peer(), 3306) is None


@pytest.mark.parametrize(
    "program",
    [
        "/usr/bin/kubectl\0port-forward\0svc/mysqld\03306\0",
        "/usr/bin/ssh\0-L\03306:db1:3306\0",
        "/bin/sh\0/usr/bin/mysqld_safe\0",
        "/usr/sbin/mysqlrouter\0",
        "",
    ],
)
def test_a_tunnel_or_proxy_is_not_the_server(tree: Tree, program: str) -> None:
    tree.process(40, program)
    tree.connection(40, SERVER, CLIENT, inode=4040)
    tree.opened(40, 4040)
    assert process.find(tree.root, PEER, 3306) is None
    assert process.find(tree.root, Peer(pid=40), 3306) is None


@pytest.mark.parametrize(
    "program",
    [
        MYSQLD,
        "mariadbd\0",
        "/opt/mysql/bin/mysqld-debug\0",
        "/lib/ld-linux-x86-64.so.2\0--library-path\0/l\0/b/mysqld\0-x\0",
    ],
)
def test_a_server_goes_by_its_program(tree: Tree, program: str) -> None:
    tree.process(40, program)
    assert process.find(tree.root, Peer(pid=40), None) == 40


def test_a_socket_for_both_kinds_of_addresses_shows_version_4_as_6(tree: Tree) -> None:
    tree.process(40)
    tree.connection(40, ("::ffff:127.0.0.1", 3306), ("::ffff:127.0.0.1", 50000), inode=4040)
    tree.opened(40, 4040)
    assert process.find(tree.root, PEER, 3306) == 40


def test_version_6_is_read_too(tree: Tree) -> None:
    tree.process(40)
    tree.connection(40, ("fd00::2", 3306), ("fe80::1:2", 50000), inode=4040)
    tree.opened(40, 4040)
    assert process.find(tree.root, Peer(own=("fe80::1:2%eth0", 50000), port=3306), 3306) == 40


def test_a_published_port_leads_to_the_one_the_server_listens_on(tree: Tree) -> None:
    tree.process(40)
    tree.connection(40, ("172.17.0.2", 3306), ("192.0.2.1", 50000), inode=4040)
    tree.opened(40, 4040)
    assert process.find(tree.root, Peer(own=("192.0.2.1", 50000), port=13306), 3306) == 40
    assert process.find(tree.root, Peer(own=("192.0.2.1", 50000), port=13306), 3307) is None


def test_another_clients_connection_with_the_same_port_is_not_ours(tree: Tree) -> None:
    tree.process(40)
    tree.connection(40, ("172.17.0.2", 3306), ("172.17.0.9", 50000), inode=4040)
    tree.opened(40, 4040)
    assert process.find(tree.root, Peer(own=("172.17.0.1", 50000), port=3306), 3306) is None


def test_without_a_look_at_open_files_the_only_server_of_that_account_is_the_one(tree: Tree) -> None:
    for pid, user in ((40, 27), (41, 28)):
        tree.process(pid, user=user)
        tree.connection(pid, SERVER, CLIENT, inode=4040, user=27)
    assert process.find(tree.root, PEER, 3306) == 40
    tree.process(42, user=27)
    tree.connection(42, SERVER, CLIENT, inode=4040, user=27)
    assert process.find(tree.root, PEER, 3306) is None


def test_nothing_is_found_where_there_is_no_proc(tmp_path: Path) -> None:
    assert process.find(tmp_path, PEER, 3306) is None
    assert process.find(tmp_path, Peer(pid=1), 3306) is None


def test_a_real_connection_is_found_in_the_kernels_own_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's own process plays the server, under another name."""
    monkeypatch.setattr(
        process, "PROGRAMS", (Path(f"/proc/{os.getpid()}/cmdline").read_text().split("\0")[0].split("/")[-1],)
    )
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as client:
        with listener.accept()[0]:
            peer = Peer(own=client.getsockname(), port=client.getpeername()[1])
            assert process.find(Path("/"), peer, None) == os.getpid()
        assert process.find(tmp_path, peer, None) is None


def test_a_busy_server_is_not_taken_for_the_one_behind_a_tunnel(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are closed while they are read, which differs from files that may not be read."""
    tree.process(40)
    tree.connection(40, SERVER, CLIENT, inode=4040)
    tree.opened(40, 5050)
    readlink = Path.readlink

    def closed_first(link: Path) -> Path:
        link.unlink()
        return readlink(link)

    monkeypatch.setattr(Path, "readlink", closed_first)
    assert process.find(tree.root, PEER, 3306) is None


def test_a_process_that_was_found_stays_found_while_it_lives(tree: Tree) -> None:
    find = process.Finder()
    tree.process(40)
    tree.connection(40, SERVER, CLIENT, inode=4040)
    tree.opened(40, 4040)
    tree.write("proc/40/stat", f"40 (a (b) c) {' '.join(map(str, range(30)))}")
    assert find(tree.root, PEER, 3306) == 40
    (tree.root / "proc/40/net/tcp").unlink()  # a new search would find nothing
    assert find(tree.root, PEER, 3306) == 40
    assert find(tree.root, Peer(own=("127.0.0.1", 50001), port=3306), 3306) is None
    tree.connection(40, SERVER, CLIENT, inode=4040)
    assert find(tree.root, PEER, 3306) == 40
    (tree.root / "proc/40/net/tcp").unlink()
    tree.write("proc/40/stat", f"40 (a (b) c) {' '.join(map(str, range(1, 31)))}")  # another process of that number
    assert find(tree.root, PEER, 3306) is None


def test_after_a_search_in_vain_the_next_one_waits(tree: Tree) -> None:
    now = 1000.0
    find = process.Finder(lambda: now)
    tree.process(40)
    assert find(tree.root, PEER, 3306) is None
    tree.connection(40, SERVER, CLIENT, inode=4040)
    tree.opened(40, 4040)
    now += process.SEARCH_AGAIN - 1
    assert find(tree.root, PEER, 3306) is None
    now += 1
    assert find(tree.root, PEER, 3306) == 40

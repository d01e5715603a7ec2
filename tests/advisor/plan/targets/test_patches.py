"""Patches of manifests: valid, with the new value and nothing else, and taken back to the byte."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import hcl2
import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.contract.plan import Patch, TargetName
from advisor.contract.recommendation import Change
from advisor.plan.targets import TARGETS
from advisor.plan.targets.manifest import yaml_text
from advisor.plan.targets.option_block import OptionBlock
from advisor.plan.targets.target import Patches, PlanRefused, taken_back, written
from advisor.upgrade.options import groups_of, variable_of
from exporter import option_file
from exporter.server import Server
from tests.advisor.plan.targets.owners import (
    BUFFERING,
    MYSQL,
    OLD_BLOCKS,
    OPERATORS,
    POOL,
    advised,
    manifest,
    server_of,
)
from tests.advisor.plan.targets.patching import documents, operations, patched, schemas

OBJECTS: tuple[TargetName, ...] = (*OPERATORS, "crossplane", "bitnami")
GI = 1 << 30
SWITCHED = {"ON": "1", "OFF": "0"}


def values(content: Any, server: Server) -> Iterator[Mapping[str, str | None]]:
    """What an object gives its servers: of each my.cnf, each map of variables, each list of parameters."""
    match content:
        case {"configuration": str(block), "extraFlags": str(flags)}:
            words = (flag.removeprefix("--").partition("=") for flag in flags.split())
            yield {**effective(block, server), **{name.replace("-", "_"): value for name, _, value in words}}
        case {"configuration": str(block)} | {"mycnf": str(block)} | {"configOverrides": str(block)}:
            yield effective(block, server)
        case {"myCnf": str(block)} | {"my.cnf": str(block)} | {"init.cnf": str(block)}:
            yield effective(block, server)
        case {"parameter": list(parameters)}:
            yield {parameter["name"]: parameter["value"] for parameter in parameters}
        case {"kind": "ConfigMap", "data": dict(data)}:
            yield {key.replace("-", "_").removeprefix("loose_"): value for key, value in data.items()}
    for child in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        yield from values(child, server)


def effective(text: str, server: Server) -> Mapping[str, str | None]:
    try:
        file = option_file.read(text)
    except option_file.OptionFileError:
        file = option_file.read(f"[mysqld]\n{text}")
    variables = (variable_of(option) for option in file.options if option.group in groups_of(server))
    return {variable.name: variable.value for variable in variables}


def holder(name: TargetName, patches: Patches) -> Any:
    """The object of a manifest that a patch is for."""
    objects = documents(manifest(name))
    if name == "bitnami":
        return objects[0]
    return next(item for item in objects if f"kubectl patch {item['kind'].lower()}" in str(patches.patch.command))


def valid(content: Mapping[str, Any]) -> None:
    schema = schemas().get(str(content.get("kind")))
    assert (
        schema is None
        or [
            f"{error.instance_path}: {error.message}"
            for error in jsonschema_rs.validator_for(schema).iter_errors(content)
        ]
        == []
    )


def without(setting: str, seen: Mapping[str, str | None]) -> Mapping[str, str | None]:
    return {name: value for name, value in seen.items() if name != setting}


@pytest.mark.parametrize("name", OBJECTS)
def test_a_patch_of_a_manifest_changes_one_setting_and_is_taken_back(name: TargetName) -> None:
    server = server_of(name)
    for change in advised(server):
        patches = TARGETS[name].settings(server, (change,), manifest(name))
        before = holder(name, patches)
        after = patched(before, patches.patch)
        undone = patched(after, patches.undo)
        for content in (before, after, undone):
            valid(content)
        assert patches.patch.whole
        had, has = [*values(before, server)], [*values(after, server)]
        assert [without(change.setting, seen) for seen in has if len(seen) > 1] == [
            without(change.setting, seen) for seen in had if without(change.setting, seen)
        ]
        new = written(change.to)
        assert {seen[change.setting] for seen in has} == {SWITCHED.get(new, new) if name == "crossplane" else new}
        if name == "percona-ps" and change.setting not in had[0]:
            assert [*values(undone, server)] == [{**had[0], change.setting: written(taken_back(change).to)}]
        else:
            assert undone == before


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_that_has_no_lines_yet_gets_one_and_loses_it_again(name: TargetName) -> None:
    server = server_of(name)
    text = "primary: {}" if name == "bitnami" else _without_lines(name)
    patches = TARGETS[name].settings(server, (OLD_BLOCKS,), text)
    [before] = [item for item in documents(text) if name != "moco" or item["kind"] == "ConfigMap"]
    after = patched(before, patches.patch)
    valid(after)
    assert after != before
    undone = patched(after, patches.undo)
    if name == "percona-ps":
        assert undone["spec"]["mysql"].pop("configuration") == "[mysqld]\ninnodb_old_blocks_pct = 37\n"
    assert undone == before


def _without_lines(name: TargetName) -> str:
    def without(content: Any) -> Any:
        if isinstance(content, list):
            return [without(item) for item in content]
        lines = ("configuration", "mycnf", "myCnf", "configOverrides", "parameter", "data")
        return (
            {key: without(item) for key, item in content.items() if key not in lines}
            if isinstance(content, dict)
            else content
        )

    return "\n---\n".join(json.dumps(without(item)) for item in documents(manifest(name)))


@pytest.mark.parametrize("name", [*OBJECTS, "kubeblocks"])
def test_memory_of_a_manifest_moves_and_is_taken_back(name: TargetName) -> None:
    if name == "crossplane":
        assert TARGETS[name].memory(GI, 2 * GI, manifest(name)) is None
        return
    patches = TARGETS[name].memory(GI, 5 * GI, manifest(name))
    assert patches is not None
    assert patches.patch.whole
    assert '"5120Mi"' in patches.patch.text
    odd = TARGETS[name].memory(GI, 6 * GI + 1, manifest(name))
    assert odd is not None
    assert '"6442450945"' in odd.patch.text
    if name == "kubeblocks":
        return
    before = holder(name, patches)
    after = patched(before, patches.patch)
    valid(after)
    assert patched(after, patches.undo) == before


NAMES = st.sampled_from(
    ["innodb_old_blocks_pct", "innodb-old-blocks-pct", "loose_innodb_old_blocks_pct", "INNODB_OLD_BLOCKS_PCT"]
)
SPACE = st.sampled_from(["", " ", "\t"])
ROWS = st.one_of(
    st.sampled_from(
        ["", "# a", ";b", "[mysqld]", "[client]", "[server]", "skip-name-resolve", "skip_innodb_old_blocks_pct"]
    ),
    st.tuples(SPACE, NAMES, SPACE, st.just("="), SPACE, st.sampled_from(["37", "'37'", "37 # x", ""])).map("".join),
    st.tuples(SPACE, st.sampled_from(["port", "max-connections"]), st.just("="), st.text("1aé#\"' \\", max_size=4)).map(
        "".join
    ),
)
BLOCKS = st.tuples(st.lists(ROWS, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans()).map(
    lambda drawn: drawn[1].join(drawn[0]) + drawn[1] * drawn[2]
)


@given(BLOCKS, st.sampled_from([(OLD_BLOCKS,), (OLD_BLOCKS, POOL, BUFFERING)]))
def test_any_option_file_takes_lines_and_keeps_all_others(text: str, changes: tuple[Change, ...]) -> None:
    block = OptionBlock(headless=True)
    changed = block.changed(text, changes, MYSQL)
    new = {change.setting: written(change.to) for change in changes}
    assert effective(changed, MYSQL) == {**effective(text, MYSQL), **new}
    kept = [row for row in text.split("\n") if "old_blocks" not in row.replace("-", "_").lower()]
    assert [row for row in changed.split("\n") if row in kept] == [row for row in kept if row in changed.split("\n")]
    assert block.changed(changed, changes, MYSQL) == changed


@given(BLOCKS, st.sampled_from(["percona-pxc", "vitess", "mariadb-operator", "cnf"]))
def test_any_block_is_restored_to_the_byte(text: str, name: TargetName) -> None:
    server = server_of(name)
    if name == "cnf":
        with contextlib.suppress(PlanRefused):
            assert TARGETS[name].settings(server, (OLD_BLOCKS,), text).undo.text == text
        return
    [before] = documents(manifest(name))
    places = {
        "percona-pxc": lambda: before["spec"]["pxc"].update(configuration=text),
        "mariadb-operator": lambda: before["spec"].update(myCnf=text),
        "vitess": lambda: before["spec"]["keyspaces"][0]["partitionings"][0]["equal"]["shardTemplate"]["tabletPools"][
            0
        ]["mysqld"].update(configOverrides=text),
    }
    places[name]()
    with contextlib.suppress(PlanRefused):
        patches = TARGETS[name].settings(server, (OLD_BLOCKS,), json.dumps(before))
        after = patched(before, patches.patch)
        assert after != before
        assert patched(after, patches.undo) == before


def test_an_option_file_is_given_whole_and_taken_back() -> None:
    patches = TARGETS["cnf"].settings(MYSQL, (OLD_BLOCKS, POOL), manifest("cnf"))
    assert effective(patches.patch.text, MYSQL) == {
        "innodb_buffer_pool_size": "268435456",
        "innodb_old_blocks_pct": "50",
    }
    assert patches.undo.text == manifest("cnf")
    assert patches.patch.whole


def test_hcl_is_a_block_for_each_parameter() -> None:
    for change in advised(server_of("terraform")):
        for patch, after in zip(_both("terraform", change), (change, taken_back(change)), strict=True):
            [block] = hcl2.loads(patch.text)["parameter"]
            shown = {key: str(text).strip('"') for key, text in block.items()}
            assert shown["name"] == change.setting
            assert shown["value"] == SWITCHED.get(written(after.to), written(after.to))
            assert shown["apply_method"] == ("immediate" if change.dynamic else "pending-reboot")


def _both(name: TargetName, change: Change) -> tuple[Patch, Patch]:
    patches = TARGETS[name].settings(server_of(name), (change,), None)
    return patches.patch, patches.undo


@given(st.one_of(st.text(), st.lists(st.text("ab :#-'\"\\\t\r\n\x85é\u2028\ufeff😀{}[]&*!|>%@`,?~=0")).map("\n".join)))
def test_any_text_is_the_same_in_yaml_of_both_versions(text: str) -> None:
    patch = Patch(file="", form="", text=yaml_text([{"op": "test", "path": "/a", "value": text}]))
    assert operations(patch) == [{"op": "test", "path": "/a", "value": text}]

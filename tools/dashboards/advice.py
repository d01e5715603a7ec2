"""The dashboard of advice, over all instances, and of the sidecars that give it."""

from __future__ import annotations

from tools.dashboards.board import Board, Row
from tools.dashboards.panels import HALF, THIRD, WHERE, Query, figure, graph, rows
from tools.dashboards.promql import by, of, per_second, recorded, top, total

_MOST = 10
"""Lines in a panel that has one an instance: there may be thousands of them."""
_UP = of("innodb_up")
_RECOMMENDED = of("innodb_advisor_recommendation")
_OWN_RULES = of("innodb_advisor_rules", 'origin="user"')
_SAVED = of("innodb_advisor_predicted_read_bytes_saved_per_second")
_CHANGE = ("severity", "rule", "subject", "setting")
_FINDINGS = by("group", _RECOMMENDED, "rule", "severity", "subject")
_FOUND = recorded("instance:innodb_advisor_recommendation:count", by("count", _FINDINGS))
_FOUND_BY_SEVERITY = recorded(
    "instance_severity:innodb_advisor_recommendation:count", by("count", _FINDINGS, "severity"), "severity"
)
_ALL_SAVED = recorded(
    "instance:innodb_advisor_predicted_read_bytes_saved_per_second:sum_max",
    by("sum", by("max", _SAVED, "subject")),
)
_SHOW = (
    "/d/innodb-advisor-lru?var-datasource=${datasource}&var-job=${__data.fields.Job}"
    "&var-instance=${__data.fields.Instance}&${__url_time_range}"
)
_ALERTMANAGER = "{{instance}} {{alertmanager}}"

_FLEET = Row(
    "All instances",
    (
        figure(
            "Servers seen",
            "Servers that their sidecar reaches.",
            "short",
            Query(f"count({_UP} == 1) or vector(0)"),
        ),
        figure(
            "Servers not seen",
            "Sidecars that do not reach their server: it is down, or refuses the login. Nothing is known of it then.",
            "short",
            Query(f"count({_UP} == 0) or vector(0)"),
        ),
        figure(
            "Findings",
            "Recommendations of all chosen instances, each counted once, however many settings it names.",
            "short",
            Query(f"sum({_FOUND}) or vector(0)"),
        ),
        figure(
            "Reads that advice would save",
            "What following the advice is predicted to save; of two findings on one table the larger, for they may save"
            " the same reads.",
            "binBps",
            Query(f"sum({_ALL_SAVED}) or vector(0)"),
        ),
        graph(
            "Instances by version",
            "Servers by flavour and version. Defaults change between versions, and so does what a setting is worth.",
            "short",
            Query(f"count by (flavour, version) ({of('innodb_server_info')})", "{{flavour}} {{version}}"),
            stacked=True,
        ),
        graph(
            "Findings by severity",
            "Recommendations over time. A finding goes when its advice was followed, or when what it saw is over.",
            "short",
            Query(f"sum by (severity) ({_FOUND_BY_SEVERITY})", "{{severity}}"),
            stacked=True,
            colours={"info": "blue", "warning": "orange", "critical": "red"},
        ),
        graph(
            "Rules that find most",
            "The ten rules with findings on most instances: what many servers have in common is worth a change of the"
            " configuration that they share.",
            "short",
            Query(
                top(_MOST, f"count by (rule) ({by('group', _RECOMMENDED, 'rule')})"),
                "{{rule}}",
            ),
        ),
        rows(
            "Instances",
            "One line for each server. The instance leads to its LRU list.",
            Query(by("max", _UP), "Seen", unit="bool_yes_no"),
            Query(by("max", of("innodb_server_info"), "flavour", "version")),
            Query(by("max", of("innodb_server_uptime_seconds")), "Up for", unit="s"),
            Query(by("max", of("innodb_buffer_pool_size_bytes")), "Buffer pool", unit="bytes"),
            Query(by("count", _FINDINGS), "Findings"),
            columns=("instance", "job", "flavour", "version"),
            sort="Findings",
            links={"Instance": _SHOW},
            empty="No server is seen",
        ),
    ),
)

_CHANGES = Row(
    "What to change now",
    (
        rows(
            "Advice",
            "What the rules find now, and the setting to change, where there is one. The value, the statements, the"
            " evidence and the cost are in the sidecar, at /advise. Reads saved is what the model predicts; no value"
            " means that the rule predicts no bytes.",
            Query(by("max", _RECOMMENDED, *_CHANGE)),
            Query(
                by("max", f"{_RECOMMENDED} * on (job, instance, rule, subject) group_left () {_SAVED}", *_CHANGE),
                "Reads saved",
                unit="binBps",
            ),
            columns=("instance", "severity", "rule", "subject", "setting"),
            hidden=("job",),
            sort="Reads saved",
            empty="Nothing to change",
        ),
        graph(
            "Reads that advice would save, by finding",
            "Bytes in a second that following a recommendation is predicted to save, for the ten findings with most.",
            "binBps",
            Query(top(_MOST, by("max", _SAVED, "rule", "subject")), "{{instance}} {{rule}} {{subject}}"),
            width=HALF,
        ),
        rows(
            "Suppressed",
            "Findings that the configuration asks not to be shown as advice.",
            Query(by("max", of("innodb_advisor_suppressed"), "rule", "subject")),
            columns=("instance", "rule", "subject"),
            hidden=("job",),
            width=HALF,
            empty="Nothing is suppressed",
        ),
    ),
)

_RULES = Row(
    "Rules",
    (
        figure(
            "Rules in force",
            "Rules loaded by all chosen sidecars; of one sidecar its own.",
            "short",
            Query(f"sum({of('innodb_advisor_rules')})"),
        ),
        figure(
            "Own rules",
            "Of these, rules from directories of your own.",
            "short",
            Query(f"sum({_OWN_RULES})"),
        ),
        figure(
            "Sidecars on old rules",
            "Their rules could not be loaded when that was last tried; those of before are in force. The log says why.",
            "short",
            Query(f"count({of('innodb_advisor_rules_last_reload_successful')} == 0) or vector(0)"),
        ),
        figure(
            "Rules loaded last",
            "When the newest rules in force were loaded.",
            "dateTimeFromNow",
            Query(f"max({of('innodb_advisor_rules_last_reload_success_timestamp_seconds')}) * 1000"),
        ),
        rows(
            "Blind rules",
            "Rules that lack something they need to see: they say nothing, which is not that all is well. The sidecar"
            " says at /rules what each lacks and what would cure it, such as a GRANT or performance_schema.",
            Query(by("max", f"{of('innodb_advisor_rule_blind')} == 1", "rule")),
            columns=("instance", "rule"),
            hidden=("job",),
            width=THIRD,
            empty="Every rule sees what it needs",
        ),
        rows(
            "Failing rules",
            "Rules that broke while they were evaluated: a fault of the rule. the sidecar says at /advise what broke.",
            Query(by("max", f"{of('innodb_advisor_rule_failed')} == 1", "rule")),
            columns=("instance", "rule"),
            hidden=("job",),
            width=THIRD,
            empty="No rule fails",
        ),
        graph(
            "Rules that say nothing",
            "Blind and failing rules, for the ten instances with most. Just after a start, a restart of the server or a"
            " change of a setting all are blind: nothing has been watched for long enough.",
            "short",
            Query(top(_MOST, total("innodb_advisor_rule_blind")), f"{WHERE} blind"),
            Query(top(_MOST, total("innodb_advisor_rule_failed")), f"{WHERE} failing"),
        ),
    ),
)

_SIDECAR = Row(
    "The sidecars",
    (
        rows(
            "Collectors that cannot read",
            "Because they failed, were refused, or what they read is switched off in the server. Rules are blind then;"
            " /snapshot says why. Those for what a server does not have are left out.",
            Query(by("max", f"{of('innodb_exporter_collector_success')} == 0", "collector")),
            columns=("instance", "collector"),
            hidden=("job",),
            width=THIRD,
            empty="Every collector reads",
        ),
        graph(
            "Age of what is served",
            "How long ago a collector read its values, of the ten oldest. Quick ones are read for each scrape, others"
            " once an interval; one that is slow is left alone for up to ten minutes. What could not be read for five"
            " minutes is no longer served.",
            "s",
            Query(
                top(_MOST, by("max", of("innodb_exporter_collector_age_seconds"), "collector")),
                "{{instance}} {{collector}}",
            ),
        ),
        graph(
            "Duration of collectors",
            "How long the last run took, of the ten slowest.",
            "s",
            Query(
                top(_MOST, by("max", of("innodb_exporter_collector_duration_seconds"), "collector")),
                "{{instance}} {{collector}}",
            ),
        ),
        graph(
            "The server's time for the sidecar",
            "Time that the server spends in the sidecar's own statements, of each second, for the ten with most.",
            "percentunit",
            Query(top(_MOST, per_second("innodb_exporter_collector_server_seconds_total")), WHERE),
        ),
        graph(
            "History in the state folder",
            "What the history takes in --state-dir. No data: the sidecar has none, and forgets with a restart.",
            "bytes",
            Query(top(_MOST, total("innodb_exporter_state_bytes")), WHERE),
        ),
        graph(
            "Faults of the state folder",
            "Writes of the history that failed, and files that were damaged and set aside, in a second.",
            "cps",
            Query(top(_MOST, per_second("innodb_exporter_state_failures_total")), f"{WHERE} failed"),
            Query(top(_MOST, per_second("innodb_exporter_state_damaged_files_total")), f"{WHERE} damaged"),
        ),
        graph(
            "Notifications",
            "Alerts sent to each Alertmanager in a second, and errors. Only with --alertmanager.",
            "cps",
            Query(
                top(_MOST, per_second("innodb_advisor_notifications_sent_total", "alertmanager")),
                f"{_ALERTMANAGER} sent",
            ),
            Query(
                top(_MOST, per_second("innodb_advisor_notifications_errors_total", "alertmanager")),
                f"{_ALERTMANAGER} errors",
            ),
            width=HALF,
        ),
        graph(
            "Notifications waiting",
            "Alerts that wait for an Alertmanager, the most that may wait, and those dropped in a second. While one is"
            " away the queue grows; what still holds is sent when it is back.",
            "short",
            Query(
                top(_MOST, total("innodb_advisor_notifications_queue_length", "alertmanager")),
                f"{_ALERTMANAGER} waiting",
            ),
            Query(top(_MOST, total("innodb_advisor_notifications_queue_capacity")), f"{WHERE} most", dashed=True),
            Query(top(_MOST, per_second("innodb_advisor_notifications_dropped_total")), f"{WHERE} dropped", unit="cps"),
            width=HALF,
        ),
    ),
)

BOARD = Board(
    "innodb-advisor-advice",
    "InnoDB: advice",
    "What to change now on which server, what that would save, what the rules cannot see, and how the sidecars fare.",
    (_FLEET, _CHANGES, _RULES, _SIDECAR),
    all_instances=True,
)

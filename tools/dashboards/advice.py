"""The dashboard of advice for all instances, and of their sidecars."""

from __future__ import annotations

from tools.dashboards.board import Board, Row
from tools.dashboards.panels import HALF, PAGE, PLACE, QUARTER, SEVERITIES, THIRD, WHERE, Query, figure, graph, rows
from tools.dashboards.promql import by, linked, of, on, per_second, recorded, top, total

_MOST = 10
"""The most lines in a panel with one per instance: there may be thousands of instances."""
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
    "&var-instance=${__data.fields.Instance}&${cluster:queryparam}&${namespace:queryparam}&${__url_time_range}"
)
_FINDING = ("rule", "subject")
_OPEN = "The finding, on the sidecar's page"
_OPEN_RULE = {"Rule": {"The sidecar's page": PAGE}}
_ALERTMANAGER = f"{WHERE} {{{{alertmanager}}}}"

_FLEET = Row(
    "All instances",
    (
        figure(
            "Servers seen",
            "Servers that are reachable by their sidecar.",
            "short",
            Query(f"count({_UP} == 1) or vector(0)"),
        ),
        figure(
            "Servers not seen",
            "Sidecars that cannot reach their server: it is down, or refuses the login. Its state is unknown.",
            "short",
            Query(f"count({_UP} == 0) or vector(0)"),
        ),
        figure(
            "Findings",
            "Recommendations for all chosen instances. One with several settings counts once.",
            "short",
            Query(f"sum({_FOUND}) or vector(0)"),
        ),
        figure(
            "Reads that advice would save",
            "Predicted savings of all advice. Two findings on one table may save the same reads, so only the larger"
            " one counts.",
            "binBps",
            Query(f"sum({_ALL_SAVED}) or vector(0)"),
        ),
        graph(
            "Instances by version",
            "Servers by flavour and version. Defaults, and the effect of a setting, differ between versions.",
            "short",
            Query(f"count by (flavour, version) ({of('innodb_server_info')})", "{{flavour}} {{version}}"),
            stacked=True,
        ),
        graph(
            "Findings by severity",
            "Recommendations over time. A finding ends when its advice was followed, or when its condition is over.",
            "short",
            Query(f"sum by (severity) ({_FOUND_BY_SEVERITY})", "{{severity}}"),
            stacked=True,
            colours=SEVERITIES,
        ),
        graph(
            "Rules that find most",
            "The ten rules with findings on the most instances. A finding on many servers may call for a change of"
            " their shared configuration.",
            "short",
            Query(
                top(_MOST, f"count by (rule) ({by('group', _RECOMMENDED, 'rule')})"),
                "{{rule}}",
            ),
        ),
        rows(
            "Instances",
            "One row per server. The instance links to its LRU list, and to its sidecar's page.",
            Query(linked(by("max", _UP)), "Seen", unit="bool_yes_no"),
            Query(by("max", of("innodb_server_info"), "flavour", "version")),
            Query(by("max", of("innodb_server_uptime_seconds")), "Up for", unit="s"),
            Query(by("max", of("innodb_buffer_pool_size_bytes")), "Buffer pool", unit="bytes"),
            Query(by("count", _FINDINGS), "Findings"),
            columns=(*PLACE, "job", "flavour", "version"),
            sort="Findings",
            links={"Instance": {"Its LRU list": _SHOW, "Its sidecar's page": PAGE}},
            empty="No server is seen",
        ),
    ),
)

_CHANGES = Row(
    "What to change now",
    (
        rows(
            "Advice",
            "Current findings, with the setting to change, if there is one. The rule links to the finding on the"
            " sidecar's page, with the value, the statements, the evidence and the cost. Reads saved is the model's"
            " prediction; no value means that the rule does not predict bytes.",
            Query(linked(by("max", _RECOMMENDED, *_CHANGE), *_FINDING)),
            Query(
                f"{by('max', _RECOMMENDED, *_CHANGE)} * {on(*_FINDING)} group_left () {by('max', _SAVED, *_FINDING)}",
                "Reads saved",
                unit="binBps",
            ),
            columns=(*PLACE, "severity", "rule", "subject", "setting"),
            hidden=("job",),
            sort="Reads saved",
            links={"Rule": {_OPEN: PAGE}},
            empty="Nothing to change",
        ),
        graph(
            "Reads that advice would save, by finding",
            "Predicted savings of a recommendation, in bytes per second, for the ten that were largest in the range."
            " Each line links to the finding on the sidecar's page.",
            "binBps",
            Query(top(_MOST, linked(by("max", _SAVED, *_FINDING), *_FINDING)), f"{WHERE} {{{{rule}}}} {{{{subject}}}}"),
            width=HALF,
            page=_OPEN,
        ),
        rows(
            "Suppressed",
            "Findings that the configuration hides from the advice.",
            Query(linked(by("max", of("innodb_advisor_suppressed"), *_FINDING), *_FINDING)),
            columns=(*PLACE, *_FINDING),
            hidden=("job",),
            links={"Rule": {_OPEN: PAGE}},
            width=HALF,
            empty="Nothing is suppressed",
        ),
    ),
)

_RESULTS = "innodb_advisor_outcomes_total"
_ERRORS = of("innodb_advisor_outcome_error_ratio_bucket")
_SMALL_ERRORS = of("innodb_advisor_outcome_error_ratio_bucket", 'le="0.2"')
_ALL_ERRORS = of("innodb_advisor_outcome_error_ratio_count")


def _outcomes(result: str) -> str:
    """Outcomes by rule; a change that no rule asked for is left out."""
    chosen = of(_RESULTS, f'result="{result}"', 'rule!=""')
    return f"sum by (rule) ({chosen})"


_HISTORY = Row(
    "What became of advice",
    (
        rows(
            "Promises by rule",
            "Outcomes of advice that was followed, for all chosen instances together, since each sidecar's ledger"
            " began. Not comparable: the work changed. Within 20 %: the share of predictions that were off by at most a"
            " fifth of the value before. /history on the sidecar has each outcome.",
            Query(_outcomes("kept"), "Kept"),
            Query(_outcomes("missed"), "Missed"),
            Query(_outcomes("not comparable"), "Not comparable"),
            Query(
                f"sum by (rule) ({_SMALL_ERRORS}) / sum by (rule) ({_ALL_ERRORS})", "Within 20 %", unit="percentunit"
            ),
            columns=("rule",),
            width=HALF,
            sort="Missed",
            empty="No advice has been followed yet",
        ),
        graph(
            "Outcomes",
            "Closed outcomes of changes of settings. Unpromised: nobody advised the change, or its effect is not"
            " measured. A change that did harm is a finding of the rule change-did-harm.",
            "short",
            Query(f"sum by (result) ({of(_RESULTS)})", "{{result}}"),
            width=QUARTER,
            stacked=True,
        ),
        graph(
            "Error of predictions",
            "The error that nine in ten of a rule's predictions stay below, for the ten largest: the difference between"
            " predicted and measured, relative to the value before.",
            "percentunit",
            Query(top(_MOST, f"histogram_quantile(0.9, sum by (rule, le) ({_ERRORS}))"), "{{rule}}"),
            width=QUARTER,
        ),
    ),
)

_RULES = Row(
    "Rules",
    (
        figure(
            "Rules in force",
            "Rules loaded by all chosen sidecars together.",
            "short",
            Query(f"sum({of('innodb_advisor_rules')})"),
        ),
        figure(
            "Own rules",
            "The part of them that comes from your own directories.",
            "short",
            Query(f"sum({_OWN_RULES})"),
        ),
        figure(
            "Sidecars on old rules",
            "Sidecars whose last attempt to load rules failed. The old rules stay in force. The log says why.",
            "short",
            Query(f"count({of('innodb_advisor_rules_last_reload_successful')} == 0) or vector(0)"),
        ),
        figure(
            "Rules loaded last",
            "The time of the last successful load of rules.",
            "dateTimeFromNow",
            Query(f"max({of('innodb_advisor_rules_last_reload_success_timestamp_seconds')}) * 1000"),
        ),
        rows(
            "Blind rules",
            "Rules that lack a source. They cannot find anything, so their silence does not mean that all is well. The"
            " sidecar names the missing source and its cure at /rules, such as a GRANT or performance_schema.",
            Query(linked(by("max", f"{of('innodb_advisor_rule_blind')} == 1", "rule"))),
            columns=(*PLACE, "rule"),
            hidden=("job",),
            links=_OPEN_RULE,
            width=THIRD,
            empty="Every rule sees what it needs",
        ),
        rows(
            "Failing rules",
            "Rules whose evaluation failed: a fault of the rule. The sidecar shows the error at /advise.",
            Query(linked(by("max", f"{of('innodb_advisor_rule_failed')} == 1", "rule"))),
            columns=(*PLACE, "rule"),
            hidden=("job",),
            links=_OPEN_RULE,
            width=THIRD,
            empty="No rule fails",
        ),
        graph(
            "Rules that say nothing",
            "Blind and failing rules, for the ten instances with the most. Right after a start, a restart of the server"
            " or a change of a setting all rules are blind: the window is still too short.",
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
            "Collectors that failed, were refused, or read a source that is switched off in the server. Rules are blind"
            " then; /snapshot gives the reason. Collectors for features that the server does not have are left out.",
            Query(by("max", f"{of('innodb_exporter_collector_success')} == 0", "collector")),
            columns=(*PLACE, "collector"),
            hidden=("job",),
            width=THIRD,
            empty="Every collector reads",
        ),
        graph(
            "Age of what is served",
            "The age of collectors' values, for the ten oldest. Fast collectors run at each scrape, others once an"
            " interval; a slow one pauses for up to ten minutes. Values that could not be read for five minutes are no"
            " longer served.",
            "s",
            Query(
                top(_MOST, by("max", of("innodb_exporter_collector_age_seconds"), "collector")),
                f"{WHERE} {{{{collector}}}}",
            ),
        ),
        graph(
            "Duration of collectors",
            "The duration of the last run, for the ten slowest collectors.",
            "s",
            Query(
                top(_MOST, by("max", of("innodb_exporter_collector_duration_seconds"), "collector")),
                f"{WHERE} {{{{collector}}}}",
            ),
        ),
        graph(
            "The server's time for the sidecar",
            "The share of time that the server spends in the sidecar's statements, for the ten largest.",
            "percentunit",
            Query(top(_MOST, per_second("innodb_exporter_collector_server_seconds_total")), WHERE),
        ),
        graph(
            "History in the state folder",
            "The size of the history in --state-dir. No data: the sidecar has no state folder and loses its history at"
            " a restart.",
            "bytes",
            Query(top(_MOST, total("innodb_exporter_state_bytes")), WHERE),
        ),
        graph(
            "Faults of the state folder",
            "Failed writes of the history, and damaged files that were set aside, per second.",
            "cps",
            Query(top(_MOST, per_second("innodb_exporter_state_failures_total")), f"{WHERE} failed"),
            Query(top(_MOST, per_second("innodb_exporter_state_damaged_files_total")), f"{WHERE} damaged"),
        ),
        graph(
            "Notifications",
            "Alerts sent to each Alertmanager, and errors, per second. Only with --alertmanager.",
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
            "Alerts that wait for an Alertmanager, the queue's capacity, and dropped alerts per second. The queue grows"
            " while an Alertmanager is unreachable. Alerts that are still active are sent when it is back.",
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
    "Current advice for each server, its predicted savings, what became of it, rules that lack a source, and the state"
    " of the sidecars.",
    (_FLEET, _CHANGES, _HISTORY, _RULES, _SIDECAR),
    all_instances=True,
)

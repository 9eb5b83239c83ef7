"""The four dashboards: overview, policies, moves and gain, fleet."""

from tests.deploy.monitoring.panels import (
    Dashboard,
    Query,
    grown,
    latest,
    panel,
    query,
    stat,
    states,
    table,
)

_NO_IDLE = "only a policy of kind IdleGPUs that finds some shows them"
_NO_LANDING = "no landing has been compared yet"
_NO_SERVER = "only where the webhook or the extender is installed"

_SCORE = panel(
    "Score",
    "0 to 100 of the placement as it is; 100: no policy has a complaint. Empty while a policy "
    "cannot be evaluated.",
    latest("score"),
    most=100,
)
_COST = panel(
    "Cost by policy",
    "About how many pods are placed as badly as the policy can charge.",
    latest("policy_cost", "policy"),
)
_MOVES = panel(
    "Moves by outcome, a day",
    "Moves that were acted on in the 24 hours before.",
    grown("moves", "outcome"),
)
_READING_AGE = panel(
    "Age of readings",
    "Age of the oldest value that was used.",
    latest("reading_age_seconds", "reading"),
    unit="s",
)
_BUDGETS = panel(
    "Moves that the limits have left",
    "After the last cycle, of the limits on all moves.",
    latest("budget_remaining_moves", "limit", quiet="only in Enforce, of limits that are numbers"),
)
_IDLE = panel(
    "Idle GPUs by namespace",
    "GPUs that pods hold and do not use; times 24 these are GPU-hours a day.",
    latest("idle_gpus", "policy", "namespace", quiet=_NO_IDLE),
)
_VERSIONS = query("count by (cluster, mode, version) (rescheduler_info{$c})", "instances")
_EVICTED = grown("moves", "cluster", where='outcome="evicted"')


def _named(legend: str, shown: Query) -> Query:
    """The query under another name."""
    return Query(shown.expr, legend, shown.quiet)


def _slowest(server: str) -> Query:
    series = f"rescheduler_{server}_request_seconds_bucket{{$c}}[$__rate_interval]"
    quantile = f"histogram_quantile(0.99, sum by (le) (\n  rate({series})))"
    return query(quantile, server, _NO_SERVER)


OVERVIEW = Dashboard(
    "overview",
    "Overview",
    "Does it run, what does it say of the placement, and does anything hold it?",
    (
        stat("Runs cycles", "1 where an instance runs cycles.", latest("leading")),
        stat(
            "Next cycle in",
            "Negative while a cycle runs, or is late.",
            query(
                "max by (cluster) (rescheduler_cycle_next_timestamp_seconds{$c} - time())",
                "{{cluster}}",
            ),
            unit="s",
        ),
        stat("Failed cycles in a row", "0 is good.", latest("cycle_failures")),
        stat(
            "Pods that a move could help",
            "Candidates, before limits and refusals.",
            latest("candidates"),
        ),
        stat(
            "Moves in the last plan",
            "Those of Audit policies are only shown.",
            latest("planned_moves", "policy_mode"),
        ),
        table("Mode and version", "What runs.", _VERSIONS, width=4, height=5),
        _SCORE,
        _COST,
        _MOVES,
        states(
            "Answer",
            "Healthy, Improvable (it proposes moves), Powerless (no move may mend it) or "
            "NotJudged.",
            latest("assessment", "state"),
        ),
        states(
            "Guards that hold all moves",
            "1 while the guard holds. The page of reason codes says what to do.",
            latest("guard_holding", "guard"),
        ),
        panel(
            "Cycles by how they ended, a day",
            "Skipped and missed ones never began.",
            grown("cycles", "verdict"),
        ),
        panel(
            "Why the last cycle did no more",
            "Reason code of its last line.",
            latest("cycle_cause", "code", quiet="a cycle about which nothing is to be said"),
        ),
        panel(
            "How long a cycle takes",
            "On average, by phase.",
            query(
                "sum by (phase) (rate(rescheduler_cycle_duration_seconds_sum{$c}[1h]))\n"
                "/ sum by (phase) (rate(rescheduler_cycle_duration_seconds_count{$c}[1h]))",
                "{{phase}}",
            ),
            unit="s",
        ),
        _READING_AGE,
        _BUDGETS,
        panel(
            "Notes on the cluster, its data and steering",
            "1 while the last plan notes this code.",
            latest("note", "reason", quiet="a plan without notes shows none"),
        ),
        panel(
            "Memory of the process",
            "Resident memory of each instance.",
            query(
                "process_resident_memory_bytes\n"
                "and on (cluster, job, instance) rescheduler_info{$c}",
                "{{instance}}",
            ),
            unit="bytes",
            width=12,
        ),
        panel(
            "Messages to people, a day",
            "By what became of them.",
            grown(
                "notifications",
                "receiver",
                "result",
                quiet="only where Notifications name a receiver",
            ),
            width=12,
        ),
    ),
)

POLICIES = Dashboard(
    "policies",
    "Policies",
    "What each policy says of the placement, on which readings, and what is left alone and why.",
    (
        _COST,
        states(
            "Evaluated",
            "1 where the last plan could evaluate the policy.",
            latest("policy_evaluated", "policy"),
            width=8,
        ),
        table(
            "Answer of each policy",
            "The state that holds now.",
            query(
                "max by (cluster, policy, state) (rescheduler_policy_assessment{$c}) == 1", "holds"
            ),
        ),
        states(
            "Counts as Audit",
            "1 while a policy may not act: its moves brought too little (MSR001), or it selects "
            "what was not shown before (SEL001, SEL002).",
            latest("policy_demoted", "policy", "reason"),
            width=8,
        ),
        panel(
            "What policies select",
            "Pods that they match, and nodes.",
            latest("policy_selected", "policy", "resource"),
        ),
        panel(
            "Pods left alone, by reason",
            "Candidates that the last plan does not move. Its page says what a code means.",
            latest("refused", "reason", quiet="refusals are shown only while pods are refused"),
        ),
        panel(
            "Coverage of readings",
            "Share of the expected nodes or pods with a value.",
            latest("reading_coverage_ratio", "reading"),
            unit="percentunit",
            most=1,
        ),
        _READING_AGE,
        panel(
            "Readings that cannot be used",
            "With the reason code.",
            latest(
                "reading_problem",
                "reading",
                "reason",
                quiet="a reading without a problem shows none",
            ),
        ),
        _IDLE,
    ),
)

MOVES = Dashboard(
    "moves",
    "Moves and gain",
    "What was moved, whether it helped, and whether pods landed where that was predicted.",
    (
        _MOVES,
        panel(
            "Evicted pods by policy, a day",
            "By the policy that gained most.",
            grown("moves", "policy", where='outcome="evicted"'),
        ),
        panel(
            "Moves in vain, a day",
            "ACT012: the pod came back to the node that it left. Others: it got no Ready "
            "replacement.",
            grown("reverted_moves", "reason"),
        ),
        panel(
            "Promised and measured gain, a day",
            "Of moves that were measured. Measured gain far below the promise: the moves do not "
            "help.",
            _named("{{policy}} promised", grown("predicted_gain", "policy")),
            _named("{{policy}} measured", grown("measured_gain", "policy")),
            _named("{{policy}} harm", grown("measured_loss", "policy")),
            width=12,
        ),
        panel(
            "Gain that evicted moves were planned for, a day",
            "Before anything was measured.",
            grown("planned_gain", "cluster"),
            width=12,
        ),
        _BUDGETS,
        panel(
            "Landed where predicted",
            "Share of replacements on a node that was predicted at all, and on one of the "
            "likeliest.",
            latest("landing_hit_ratio", "kind", quiet=_NO_LANDING),
            _named(
                "{{cluster}} {{kind}} likeliest",
                latest("landing_likeliest_ratio", "kind", quiet=_NO_LANDING),
            ),
            unit="percentunit",
            most=1,
        ),
        panel(
            "Brier score of landings",
            "0 is perfect, 2 the worst; expected: what it is if the probabilities are right.",
            latest("landing_brier_score", "kind", quiet=_NO_LANDING),
            _named(
                "{{cluster}} {{kind}} expected",
                latest("landing_expected_brier_score", "kind", quiet=_NO_LANDING),
            ),
            most=2,
        ),
        panel(
            "Moves that are not steered",
            "Although their policy asks for it, by reason.",
            latest(
                "unsteered_moves",
                "reason",
                quiet="only where a policy is steered, and some moves are not",
            ),
        ),
        panel(
            "Answers of webhook and extender",
            "The time that 99 % of them take.",
            _slowest("webhook"),
            _slowest("extender"),
            unit="s",
        ),
    ),
)

FLEET = Dashboard(
    "fleet",
    "Fleet",
    "All clusters of one Prometheus, Thanos or Mimir, by the label `cluster`.",
    (
        table(
            "Clusters",
            "One row each. Holds counts the guards that hold.",
            _named("runs", latest("leading")),
            _named("score", latest("score")),
            _named("candidates", latest("candidates")),
            _named("evicted a day", _EVICTED),
            query(
                "sum by (cluster) (max by (cluster, guard) (rescheduler_guard_holding{$c}))",
                "holds",
            ),
            _named("failed in a row", latest("cycle_failures")),
            query(
                "sum by (cluster) (\n"
                "  max by (cluster, policy, namespace) (rescheduler_idle_gpus{$c}))",
                "idle GPUs",
                _NO_IDLE,
            ),
            width=24,
            height=10,
        ),
        table("Versions and modes", "How many instances run each.", _VERSIONS),
        _SCORE,
        panel(
            "Evicted pods by cluster, a day",
            "Moves that the API server accepted.",
            _EVICTED,
        ),
        panel(
            "Measured gain less harm, a day",
            "Below 0: the moves of that cluster do harm.",
            query(
                "sum by (cluster) (increase(rescheduler_measured_gain_total{$c}[1d]))\n"
                "- sum by (cluster) (increase(rescheduler_measured_loss_total{$c}[1d]))",
                "{{cluster}}",
            ),
        ),
        panel(
            "Alerts that fire",
            "Of the rules that come with these dashboards.",
            query(
                "count by (cluster, alertname) (\n"
                '  ALERTS{$c, alertname=~"Rescheduler.*", alertstate="firing"})',
                "{{cluster}} {{alertname}}",
                "nothing fires where all is well",
            ),
        ),
        _IDLE,
    ),
)

DASHBOARDS = (OVERVIEW, POLICIES, MOVES, FLEET)
"""Every dashboard."""

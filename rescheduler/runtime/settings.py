"""The one home of every option: what it is called, what it means, what it is when nothing is said.

A flag beats the environment (`RESCHEDULER_` and the field's name in capitals), and that beats the
default. The command line makes its options from these fields, so nothing is said twice.
"""

# ruff: noqa: RUF009 - _option is dataclasses.field with our metadata

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from rescheduler.model.errors import SettingsError
from rescheduler.model.moves.plan import Mode
from rescheduler.planning.evaluation.effort import MOST_STEPS

OutputFormat = Literal["table", "json", "html", "markdown"]
PageAccess = Literal["Open", "Kubernetes"]
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["auto", "json", "console"]
Cloud = Literal["aws", "google", "azure"]

ENV_PREFIX = "RESCHEDULER_"
AUTO = "auto"
"""Instead of an address: it is looked for in the cluster."""

_CATALOG = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{12,64}", re.ASCII | re.IGNORECASE)


def env_names(name: str) -> list[str]:
    """The environment variables of a field."""
    return [ENV_PREFIX + name.upper()]


def _option(default: Any, text: str, *, metavar: str = "", short: str = "") -> Any:
    return field(default=default, metadata={"help": text, "metavar": metavar, "short": short})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of a run, checked for what contradicts itself."""

    policies: Path | None = _option(
        None, "Policy file, or folder of policy files.", metavar="PATH", short="-p"
    )
    kubeconfig: Path | None = _option(
        None, "Kubeconfig file; otherwise $KUBECONFIG, ~/.kube/config or the pod's own account."
    )
    context: str | None = _option(None, "Context of the kubeconfig.", metavar="NAME")
    prometheus_url: str | None = _option(
        None,
        "Address of Prometheus or of what serves its API; auto, which plan and run in Audit use "
        "where none is given, asks the well-known Services of the cluster.",
        metavar="URL",
    )
    prometheus_namespaces: str = _option(
        "monitoring,observability,prometheus,openshift-monitoring,cattle-monitoring-system",
        "Namespaces in which auto looks for Prometheus, separated by commas; only administrators "
        "should be able to create Services there.",
        metavar="NAMES",
    )
    prometheus_token_file: Path | None = _option(
        None, "File with a bearer token for Prometheus, read again before every request."
    )
    prometheus_auth: Cloud | None = _option(
        None,
        "Sign queries with our own identity in a cloud, for its managed Prometheus; "
        "needs the extra of that name.",
    )
    prometheus_basic_auth_file: Path | None = _option(
        None, "File with user:password for Prometheus, read again before every request."
    )
    prometheus_client_cert_file: Path | None = _option(
        None, "File with our own certificate, where Prometheus asks for one."
    )
    prometheus_client_key_file: Path | None = _option(
        None, "File with the key of our own certificate, where it is not in the same file."
    )
    prometheus_header: tuple[str, ...] = _option(
        (),
        "Header for every query, such as a tenant, with the file that its value is in; "
        "may be given several times.",
        metavar="NAME=@FILE",
    )
    prometheus_ca_file: Path | None = _option(
        None, "File with the authorities that sign Prometheus's certificate."
    )
    prometheus_selector: str = _option(
        "",
        "Label matchers for every query, where one Prometheus watches several clusters.",
        metavar="MATCHERS",
    )
    dataset_catalogs: str = _option(
        "",
        "Catalogs of datasets that policies may name, separated by commas.",
        metavar="NAME=URL",
    )
    scheduler_url: str | None = _option(
        None,
        "Address of kube-scheduler, to read its configuration from; "
        "where it gives no answer, nothing is evicted.",
        metavar="URL",
    )
    scheduler_ca_file: Path | None = _option(
        None, "File with the authorities that sign kube-scheduler's certificate."
    )
    scheduler_insecure_skip_tls_verify: bool = _option(
        False, "Do not check kube-scheduler's certificate; anybody who answers gets our token."
    )
    snapshot: Path | None = _option(
        None, "Recorded snapshot that stands in for the cluster and Prometheus."
    )
    output: OutputFormat = _option("table", "How to show the result.", short="-o")
    out: Path | None = _option(
        None, "Write the result to this file; - is standard output, as without it."
    )
    mode: Mode = _option(
        "Audit",
        "Audit: plan and report, evict nothing. Enforce: evict the pods of the plan.",
        metavar="[Audit|Enforce]",
    )
    once: bool = _option(False, "Run one cycle and exit, as for a CronJob.")
    every: timedelta | None = _option(None, "Repeat at this interval, such as 5m.")
    cron: str | None = _option(
        None,
        "Run a cycle at these times: five fields with Kubernetes' meaning.",
        metavar="EXPRESSION",
    )
    time_zone: str = _option("UTC", "Time zone of --cron, such as Europe/Paris.", metavar="ZONE")
    listen: str = _option(
        "127.0.0.1:8080",
        "Where to serve: probes, /metrics and what the command is for; port 0 takes a free one.",
        metavar="HOST:PORT",
    )
    listen_token_file: Path | None = _option(
        None,
        "File with a token that readers of metrics and reports have to show, as bearer token or "
        "password; probes need none. Read again for every request; while it rotates, one line for "
        "the old one and one for the new one.",
    )
    page_access: PageAccess = _option(
        "Open",
        "Who may see metrics and reports at --listen. Open: everybody who reaches it, or shows the "
        "token of --listen-token-file. Kubernetes: who shows a bearer token of the cluster and may "
        "get the nonresource URL /rescheduler-reports, for metrics /metrics, and for the page "
        "/namespaces/NAME the pods of that namespace.",
    )
    notification_files: Path = _option(
        Path("/etc/rescheduler/notifications"),
        "Folder with the files that documents of kind Notifications name: addresses, tokens and "
        "authorities, such as a mounted Secret.",
        metavar="FOLDER",
    )
    tls_cert_file: Path | None = _option(
        None,
        "File with the certificate to present, read again once a minute, or by the extender each "
        "--every.",
    )
    tls_key_file: Path | None = _option(None, "File with the key of that certificate.")
    client_ca_file: Path | None = _option(
        None,
        "File with the authority of those who may ask: others are refused, but for probes and "
        "metrics.",
    )
    cycle_deadline: timedelta = _option(
        timedelta(minutes=15), "A cycle that takes this long sends nothing more, and ends."
    )
    search_time: timedelta = _option(
        timedelta(minutes=1),
        "Stop searching for moves after this time; the plan then has the best that were found, and "
        "says so.",
    )
    search_steps: int = _option(
        MOST_STEPS,
        "Stop searching after so many evaluations, which gives the same plan on every machine.",
        metavar="N",
    )
    last_plan: Path | None = _option(
        None,
        "The previous plan, as JSON: where its search ended early, this one goes on from its "
        "moves.",
        metavar="PLAN.json",
    )
    seed: int = _option(0, "Seed of all that is random in planning.", metavar="N")
    exit_code: bool = _option(
        False,
        "Exit with 4 if moves are proposed, 7 if something is wrong and no allowed move helps, 8 "
        "if no policy could judge.",
    )
    yes: bool = _option(False, "Do not ask before acting.")
    digest: str | None = _option(
        None,
        "Act only on the plan that was approved: its digest, or 12 or more of its first digits. "
        "Give the whole digest where others can write the file.",
        metavar="ID",
    )
    audit_trail: str | None = _option(
        None,
        "Audit trail: a file, a folder with a / at its end (a file each day), or -: run and apply "
        "write it to standard output, history reads standard input. Where it cannot be written, "
        "nothing is evicted.",
        metavar="PATH",
    )
    audit_trail_max_size: int = _option(
        64, "MiB of a file of the audit trail, before a new one is begun.", metavar="MIB"
    )
    audit_trail_max_files: int = _option(
        30, "Files of the audit trail that are kept; then the oldest are removed.", metavar="N"
    )
    since: timedelta | datetime | None = _option(
        None, "Only what began since then: 7d, 12h, 2026-11-01, 2026-11-01T09:00Z."
    )
    debug: bool = _option(False, "Show the traceback of an unexpected error, and debug logs.")
    log_level: LogLevel | None = _option(
        None, "Least severe log line to write; info for run and warning elsewhere, unless given."
    )
    log_format: LogFormat = _option(
        "auto", "Logs on standard error: auto is console on a terminal, JSON elsewhere."
    )

    def __post_init__(self) -> None:
        if self.prometheus_url not in (None, AUTO):
            check_url(self.prometheus_url)
        if self.scheduler_url is not None:
            check_scheduler_url(self.scheduler_url)
        catalogs_in(self.dataset_catalogs)
        if self.every is not None and self.cron is not None:
            raise SettingsError(
                "--every and --cron were both given", "give one of them: they are two schedules."
            )
        if self.every is not None and self.every < timedelta(seconds=1):
            raise SettingsError(
                f"--every {self.every.total_seconds():g}s is too short",
                "give at least 1s; 5m suits most clusters.",
            )
        self._check_ends()
        if self.digest is not None and not _DIGEST.fullmatch(self.digest):
            raise SettingsError(
                f"--digest {self.digest!r} is not the beginning of a digest",
                "give the plan's id, which is 12 hexadecimal digits, or its whole digest of 64.",
            )
        if self.snapshot is not None and self.mode == "Enforce":
            raise SettingsError(
                "--mode Enforce cannot act on a recorded snapshot",
                "leave out --snapshot, or plan with --mode Audit.",
            )
        if self.snapshot is not None and self.prometheus_url is not None:
            raise SettingsError(
                "--snapshot and --prometheus-url were both given: a recording holds its readings",
                "leave out --prometheus-url (and RESCHEDULER_PROMETHEUS_URL) to plan on the "
                "recording, or --snapshot to read the cluster as it is now.",
            )

    @property
    def metric_namespaces(self) -> frozenset[str]:
        """The namespaces whose Services may be the metric source."""
        names = (name.strip() for name in self.prometheus_namespaces.split(","))
        return frozenset(filter(None, names))

    def _check_ends(self) -> None:
        """What ends a cycle and a search leaves them something to do."""
        if self.cycle_deadline < timedelta(seconds=1):
            raise SettingsError("--cycle-deadline is too short", "give at least 1s.")
        if self.search_time < timedelta(seconds=1):
            raise SettingsError("--search-time is too short", "give at least 1s.")
        if self.search_steps < 1:
            hint = f"leave it out: {MOST_STEPS} suit most clusters."
            raise SettingsError("--search-steps must be 1 or more", hint)


def catalogs_in(text: str) -> dict[str, str]:
    """The address of each catalog of datasets by its name.

    Policies name a catalog and cannot choose its address, so that anybody who may edit policies
    cannot make us ask any address of the network.

    Raises:
        SettingsError: it is not a list of NAME=URL, or an address cannot be used.
    """
    answer: dict[str, str] = {}
    for part in filter(None, (catalog.strip() for catalog in text.split(","))):
        name, equals, url = part.partition("=")
        shown = part if _CATALOG.fullmatch(name) and "@" not in text else _hide_credentials(text)
        hint = "write it as datasets=https://catalog.data.svc/datasets.json."
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            why = " is not NAME=URL" if "@" in text else f": {error}"
            raise SettingsError(f"--dataset-catalogs {shown}{why}", hint) from error
        if parts.username or parts.password:
            raise SettingsError(
                f"--dataset-catalogs {shown} would show them in reports",
                "serve the catalog without credentials inside the cluster.",
            )
        is_http = parts.scheme in ("http", "https") and parts.hostname and port != 0
        if not equals or not _CATALOG.fullmatch(name) or not is_http:
            raise SettingsError(f"--dataset-catalogs {shown} is not NAME=URL", hint)
        if name in answer:
            raise SettingsError(f"--dataset-catalogs has {name!r} twice", "give each its own name.")
        answer[name] = url
    return answer


def _hide_credentials(text: str) -> str:
    """An address as an error may repeat it: where a typing error stands, a password may be."""
    return text if "@" not in text else "(with credentials)"


def check_scheduler_url(url: str) -> None:
    """Refuse what cannot be the address of kube-scheduler.

    Raises:
        SettingsError: not https, no host, a bad port, a path, or credentials inside the URL.
    """
    hint, shown = "write it as https://10.0.0.5:10259.", _hide_credentials(url)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        why = " is not a URL" if "@" in url else f": {error}"
        raise SettingsError(f"--scheduler-url {shown}{why}", hint) from error
    if parts.username or parts.password:
        raise SettingsError(f"--scheduler-url for {parts.hostname} holds credentials", hint)
    if parts.scheme != "https" or not parts.hostname or port == 0 or parts.path.strip("/"):
        raise SettingsError(f"--scheduler-url {shown} is not an https address without a path", hint)


def check_url(url: str) -> None:
    """Refuse what cannot be the address of Prometheus.

    Raises:
        SettingsError: no http or https, no host, a bad port, or credentials inside the URL.
    """
    shown = _hide_credentials(url)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise SettingsError(
            f"--prometheus-url {shown} is not a URL" + ("" if "@" in url else f": {error}"),
            "write it as http://prometheus.monitoring:9090.",
        ) from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise SettingsError(
            f"--prometheus-url {shown} is not an http or https address",
            "write it as http://prometheus.monitoring:9090.",
        )
    if parts.username or parts.password:
        raise SettingsError(
            f"--prometheus-url for {parts.hostname} holds credentials, which end up in logs",
            "give a token with --prometheus-token-file.",
        )

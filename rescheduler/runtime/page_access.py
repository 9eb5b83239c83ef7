"""Who may see the pages of the service, by its settings."""

from rescheduler.actions.page_reviews import PageReviews
from rescheduler.model.errors import SettingsError
from rescheduler.runtime.servers.kubernetes_access import KubernetesAccess
from rescheduler.runtime.servers.reader_check import ReaderCheck
from rescheduler.runtime.servers.token import Token
from rescheduler.runtime.settings import Settings
from rescheduler.sources.kubernetes.client import Connection


def page_access(settings: Settings, connection: Connection | None) -> ReaderCheck | None:
    """What decides about readers; None lets everybody in who reaches the address.

    Raises:
        SettingsError: the settings contradict each other, or the token cannot be read.
    """
    if settings.page_access == "Open":
        return Token(settings.listen_token_file) if settings.listen_token_file else None
    if settings.listen_token_file is not None:
        raise SettingsError(
            "--page-access Kubernetes and --listen-token-file contradict each other",
            "leave one of them out: scrapers can show a token of their service account.",
        )
    if connection is None:
        raise SettingsError(
            "--page-access Kubernetes needs a cluster to ask", "leave out --snapshot."
        )
    return KubernetesAccess(PageReviews(connection.api))

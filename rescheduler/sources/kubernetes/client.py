"""Which API server to connect to, and as whom: a kubeconfig, or the service account of our pod."""

import logging
import os
import warnings
from pathlib import Path
from urllib.parse import urlsplit

import urllib3
import yaml
from kubernetes.client import ApiClient, Configuration
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config
from kubernetes.config.kube_config import list_kube_config_contexts

from rescheduler import __version__
from rescheduler.model.errors import SettingsError
from rescheduler.sources.kubernetes.transport import Connection, one_line

__all__ = ["Connection", "connect"]

_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


def connect(kubeconfig: Path | None, context: str | None) -> Connection:
    """The connection that a kubeconfig describes, or the one that a pod has.

    Without a kubeconfig: the pod's own service account if we run in a pod and no context is named,
    else $KUBECONFIG, else ~/.kube/config. Nothing is sent yet.

    Raises:
        SettingsError: no usable configuration.
    """
    configuration = Configuration()
    inside = bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and _TOKEN.is_file()
    if kubeconfig is None and context is None and inside:
        try:
            load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        except (ConfigException, OSError) as error:
            raise SettingsError(
                f"the pod's service account cannot be used: {error}",
                "its token is not mounted: see automountServiceAccountToken.",
            ) from error
        name = "in-cluster"
    else:
        name = _load(configuration, kubeconfig, context)
    # Never behind our back: neither the retries nor the redirects of the transport.
    configuration.retries = urllib3.Retry(
        total=0, redirect=0, status=0, raise_on_redirect=False, raise_on_status=False
    )
    if not configuration.verify_ssl and str(configuration.host).startswith("https://"):
        _say_once_that_nothing_is_verified(str(configuration.host))
    api = ApiClient(configuration)
    api.user_agent = f"rescheduler/{__version__}"
    return Connection(api, name)


def _say_once_that_nothing_is_verified(host: str) -> None:
    """One line instead of urllib3's two for each request."""
    warnings.simplefilter("ignore", urllib3.exceptions.InsecureRequestWarning)
    logging.getLogger("rescheduler").warning(
        "the certificate of %s is not verified (insecure-skip-tls-verify): who answers there "
        "gets our credentials",
        host,
    )


def _load(configuration: Configuration, kubeconfig: Path | None, context: str | None) -> str:
    """Load a kubeconfig into the configuration; the name of the context in use."""
    if kubeconfig is not None and not kubeconfig.is_file():
        raise SettingsError(f"kubeconfig {kubeconfig} does not exist", "check --kubeconfig.")
    shown = kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
    file = None if kubeconfig is None else str(kubeconfig)
    try:
        contexts, current = list_kube_config_contexts(config_file=file)  # type: ignore[no-untyped-call]
        names = [context_entry["name"] for context_entry in contexts]
        if context is not None and context not in names:
            raise SettingsError(
                f"context {context!r} is not in {shown}",
                f"it is one of: {', '.join(names) or 'none'}.",
            )
        load_kube_config(  # type: ignore[no-untyped-call]
            config_file=file,
            context=context,
            client_configuration=configuration,
            persist_config=False,
        )
    except (
        ConfigException,
        yaml.YAMLError,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
    ) as error:
        raise SettingsError(
            f"kubeconfig {shown} cannot be used: {one_line(error)}",
            "give --kubeconfig, or set KUBECONFIG; `kubectl config view` shows what is wrong.",
        ) from error
    if urlsplit(str(configuration.host)).scheme not in ("http", "https"):
        raise SettingsError(
            f"kubeconfig {shown} has the server {configuration.host!r}",
            "it must begin with https://.",
        )
    return context or str(current["name"])

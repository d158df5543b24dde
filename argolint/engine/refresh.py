"""Reads some applications again, one by one; the rest of the fleet stays as it was."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from argolint.application.app import App, app_from_list
from argolint.application.fleet import Fleet, cluster_of
from argolint.errors import ApiError, ConnectError
from argolint.host.threads import each
from argolint.model import AppRef
from argolint.server import api
from argolint.server.transport import Transport
from argolint.values import mapping, text_at


def refreshed(t: Transport, fleet: Fleet, wanted: Iterable[AppRef], workers: int = 8) -> Fleet:
    """The fleet with the current state of the `wanted` applications; those that no longer exist are removed.

    The project of a ref may be outdated: the application may have moved. Raises ArgolintError if the server cannot answer.
    """
    apps = {(app.ref.namespace, app.ref.name): app for app in fleet.apps}
    by_name = {text_at(cluster, "name"): server for server, cluster in fleet.clusters.items()}

    def read(ref: AppRef) -> tuple[AppRef, App | None]:
        known = apps.get((ref.namespace, ref.name))
        refs = dict.fromkeys((ref, *([known.ref] if known else ())))
        return ref, next((found for r in refs if (found := _read(t, r, fleet, by_name)) is not None), None)

    for ref, found in each(wanted, read, workers):
        if found is None:
            apps.pop((ref.namespace, ref.name), None)
        else:
            apps[ref.namespace, ref.name] = found
    now = t.now()
    return fleet.with_apps(sorted((replace(app, observed_at=now) for app in apps.values()), key=_ref))


def _ref(app: App) -> AppRef:
    return app.ref


def _read(t: Transport, ref: AppRef, fleet: Fleet, by_name: dict[str, str]) -> App | None:
    try:
        raw = api.application(t, ref)
    except ApiError as error:
        if error.status in (
            403,
            404,
        ):  # deleted, moved, or no longer visible to this account: the list would not have it
            return None
        raise
    named = (text_at(raw, "metadata", "namespace") or fleet.control_plane, text_at(raw, "metadata", "name"))
    if named != (ref.namespace, ref.name):
        raise ConnectError(
            f"{t.server} answered with another application than {ref}", "a proxy may be altering responses"
        )
    return app_from_list(
        raw,
        server=fleet.server,
        cluster=cluster_of(mapping(raw, "spec"), by_name),
        control_plane=fleet.control_plane,
        observed_at=t.now(),
    )

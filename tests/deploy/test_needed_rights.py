"""What a run asks the API server for is what the manifests grant its account, and no less.

tests/e2e/test_rights.py shows the same on a real API server.
"""

import pytest

from rescheduler.actions.steering.steering_table import TABLE
from rescheduler.runtime.live_actor import FINDING_HISTORY
from rescheduler.runtime.report_keeping import LAST_REPORT
from tests.catalogue.kit import hot, moved
from tests.deploy.manifests import ACTING, AUDITING, OVERLAYS
from tests.deploy.rights import Right, asked, granted
from tests.simulation.policies import POLICIES, SPREAD
from tests.simulation.scenario import simulated

UNUSED = {
    ("", "replicationcontrollers", "get"),
    ("apps", "statefulsets", "get"),
    ("batch", "cronjobs", "get"),
    ("batch", "jobs", "get"),
    ("jobset.x-k8s.io", "jobsets", "get"),
    ("leaderworkerset.x-k8s.io", "leaderworkersets", "get"),
    ("coordination.k8s.io", "leases", "create"),
}
"""For owners of other kinds, and for the first run of all."""
IN_VAIN = {
    Right("", "configmaps", "get", "rescheduler", TABLE),
    Right("", "configmaps", "create", "rescheduler"),
    Right("", "configmaps", "update", "rescheduler", FINDING_HISTORY),
    Right("authorization.k8s.io", "selfsubjectaccessreviews", "create"),
}
"""What components grant, what is needless where the manifests bring the ConfigMaps, and what
everybody may who is authenticated (system:basic-user)."""


@pytest.mark.parametrize("name", OVERLAYS)
def test_a_run_uses_the_rights_that_it_has_and_needs_no_others(name: str) -> None:
    acts = name.startswith("enforce")
    allowed = granted(name, ACTING if acts else AUDITING)
    with simulated():
        run = hot(text=POLICIES + SPREAD.replace("  maxSkew", "  stableFor: 5m\n  maxSkew"))
        run.universe.log.clear()
        for _ in range(2):
            run.process("Enforce" if acts else "Audit").run()
            run.cluster.timeline.advance(300.0)
    assert bool(moved(run)) == acts
    needed = asked((request.method, request.path) for request in run.universe.log)
    assert len(needed) > 30
    missing = {
        needed_right
        for needed_right in needed
        if not any(right.covers(needed_right) for right in allowed)
    }
    assert missing <= IN_VAIN
    unused = {
        right
        for right in allowed
        # It is kept once the cycle has ended: tests/runtime/test_report_keeping.py.
        if right.name != LAST_REPORT and not any(right.covers(item) for item in needed)
    }
    assert {right[:3] for right in unused} == (UNUSED if acts else set())

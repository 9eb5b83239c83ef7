"""What PodDisruptionBudgets allow: spent as the Eviction API does, given back as pods get Ready."""

from typing import TYPE_CHECKING, Any

from tests.fakes.manners import Reply, needs_no_budget, status

if TYPE_CHECKING:
    from tests.fakes.world import World


def spend(world: "World", pod: dict[str, Any], *, dry_run: bool) -> Reply | None:
    """Take one disruption from the budget of the pod, but in a dry run; or the refusal."""
    labels = pod["metadata"]["labels"]
    budgets = [
        value
        for (kind, namespace, _), value in world.objects.items()
        if kind == "poddisruptionbudgets"
        and namespace == pod["metadata"]["namespace"]
        and value["spec"]["selector"]["matchLabels"].items() <= labels.items()
    ]
    if len(budgets) > 1:
        return status(
            500,
            "InternalError",
            "This pod has more than one PodDisruptionBudget, which the eviction subresource "
            "does not support.",
        )
    for budget in budgets:
        name, state = budget["metadata"]["name"], budget["status"]
        text = "Cannot evict pod as it would violate the pod's disruption budget."
        if needs_no_budget(pod, budget):
            return None
        if state["observedGeneration"] < budget["metadata"]["generation"]:
            why = f"The disruption budget {name} is still being processed by the server."
            cause = {"reason": "DisruptionBudget", "message": why}
            return status(429, "TooManyRequests", text, causes=[cause], retryAfterSeconds=10)
        if state["disruptionsAllowed"] <= 0:
            why = f"The disruption budget {name} needs 3 healthy pods and has 3 currently"
            cause = {"reason": "DisruptionBudget", "message": why}
            return status(429, "TooManyRequests", text, causes=[cause])
        state["disruptionsAllowed"] -= not dry_run
    return None


def give_back(world: "World", pod: dict[str, Any]) -> None:
    """A pod of the budget is Ready again."""
    for (kind, _, _), value in world.objects.items():
        if kind == "poddisruptionbudgets":
            selector = value["spec"]["selector"]["matchLabels"]
            if selector.items() <= pod["metadata"]["labels"].items():
                value["status"]["disruptionsAllowed"] += 1

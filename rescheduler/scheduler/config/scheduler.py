"""Scheduler: what is known about a scheduler, so that its decisions can be predicted."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import (
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
    model_validator,
)

from rescheduler.documents.envelope import Document
from rescheduler.documents.fields import Strict
from rescheduler.documents.file_problems import FileProblem, TextSpan
from rescheduler.documents.kubernetes_yaml import KubernetesReader
from rescheduler.documents.strict_yaml import Tree, read
from rescheduler.documents.validation import validate_part
from rescheduler.scheduler.config.kube_scheduler_configuration import (
    Extender,
    KubeSchedulerConfiguration,
)
from rescheduler.scheduler.config.plugin_arguments import Arguments, Minor, Version
from rescheduler.scheduler.plugins.default_plugins import PLUGINS, WEIGHTS

if TYPE_CHECKING:
    ScorePlugin = str
    FilterPlugin = str
else:
    ScorePlugin = Literal[tuple(WEIGHTS)]
    FilterPlugin = Literal[tuple(plugin.name for plugin in PLUGINS if plugin.filters())]


_OWN = (
    "schedulerName",
    "percentageOfNodesToScore",
    "weights",
    "disabledFilters",
    "disabledScores",
    "arguments",
)
"""The fields that a whole configuration sets itself."""


def _one_form() -> ConfigDict:
    """In JSON Schema: fields of our own, or a configuration, or a file with one."""
    nothing: dict[str, Any] = {"type": "null"}
    whole: dict[str, Any] = dict.fromkeys(_OWN, False)
    forms: list[Any] = [
        {"properties": {"configuration": nothing, "configFile": nothing}},
        {
            "properties": {**whole, "configuration": {"type": "object"}, "configFile": nothing},
            "required": ["configuration"],
        },
        {
            "properties": {**whole, "configuration": nothing, "configFile": {"type": "string"}},
            "required": ["configFile"],
        },
    ]
    return ConfigDict(json_schema_extra={"oneOf": forms})


class AddedPlugin(Strict):
    """A plugin that Kubernetes does not bring."""

    name: str = Field(min_length=1, description="Its name in the scheduler's configuration.")
    affectsPlacement: bool = Field(
        True,
        description="Whether it decides where pods go. If so, pods of this scheduler stay.",
    )


class Scheduler(Document):
    """A scheduler by its name; what is not said is as Kubernetes has it. One document for each.

    Without any document, `default-scheduler` is modelled with the default profile of the server's
    version, and pods of every other scheduler are left alone. Give either the differences from the
    default profile, or the scheduler's own KubeSchedulerConfiguration as it stands: in a file
    beside this one (`configFile`) or in place (`configuration`); every profile in it is then a
    scheduler.
    With `--scheduler-url` the running scheduler is read too, and must agree.
    """

    model_config = _one_form()

    codes: ClassVar[tuple[str, ...]] = ("ELG018", "FEA005", "GRD010", "GRD012")

    kind: Literal["Scheduler"] = "Scheduler"
    name: str = Field(min_length=1, description="metadata.name")
    schedulerName: str = Field(
        "default-scheduler", min_length=1, description="The `spec.schedulerName` of its pods."
    )
    version: Version | None = Field(
        None, description="Its version, such as `1.36`, where it is not the API server's."
    )
    percentageOfNodesToScore: int = Field(
        0, ge=0, le=100, description="How many nodes it samples; 0 adapts to the cluster."
    )
    weights: dict[ScorePlugin, Annotated[int, Field(ge=1, le=10_000)]] = Field(
        default_factory=dict, description="Weights that differ from the default ones."
    )
    disabledFilters: list[FilterPlugin] = Field(
        default_factory=list, description="Plugins that do not filter."
    )
    disabledScores: list[ScorePlugin] = Field(
        default_factory=list, description="Plugins that do not score."
    )
    arguments: Arguments = Field(
        default_factory=Arguments, description="Arguments of its plugins, as in `pluginConfig`."
    )
    allowVersions: list[Minor] = Field(
        default_factory=list,
        description="Minor versions of Kubernetes, such as `1.38`, where pods may be moved "
        "although the model was never compared with their kube-scheduler (GRD012).",
    )
    addedPlugins: list[AddedPlugin] = Field(
        default_factory=list, description="Plugins that Kubernetes does not bring."
    )
    harmlessExtenders: list[str] = Field(
        default_factory=list,
        description="`urlPrefix` of each extender that does not decide where pods go. It must be "
        "`ignorable` too; any other extender keeps the pods that it sees where they are.",
    )
    featureGates: dict[str, bool] = Field(
        default_factory=dict, description="Feature gates that differ from the version's defaults."
    )
    configuration: (
        Annotated[KubeSchedulerConfiguration, WithJsonSchema({"type": "object"})] | None
    ) = Field(None, description="A whole KubeSchedulerConfiguration.")
    configFile: str | None = Field(
        None,
        min_length=1,
        description="File with a KubeSchedulerConfiguration, from the folder of this document.",
    )

    @model_validator(mode="after")
    def _has_one_form(self) -> "Scheduler":
        fields = self.model_fields_set
        if self.configuration is not None and self.configFile is not None:
            raise ValueError("configuration and configFile exclude each other")
        if self.configuration is not None or self.configFile is not None:
            said = [field for field in _OWN if field in fields]
            if said:
                raise ValueError(f"{said[0]} is set by the configuration; give only one of them")
        return self

    @model_serializer(mode="wrap")
    def _in_one_form(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without the fields that the configuration sets itself, so that it can be read again."""
        written: dict[str, Any] = write(self)
        if self.configuration is not None or self.configFile is not None:
            return {key: value for key, value in written.items() if key not in _OWN}
        return written

    @property
    def extenders(self) -> list[Extender]:
        """The extenders of its configuration, where it is written here."""
        return list((self.configuration.extenders if self.configuration else None) or ())

    @property
    def names(self) -> list[str]:
        """The schedulerName of each scheduler that the document declares."""
        if self.configuration is not None:
            return self.configuration.names
        return [self.schedulerName]

    @property
    def harmless_plugins(self) -> frozenset[str]:
        """The added plugins that do not affect placement."""
        return frozenset(plugin.name for plugin in self.addedPlugins if not plugin.affectsPlacement)


def with_configuration(made: Scheduler, text: str) -> tuple[Scheduler | None, list[FileProblem]]:
    """The document with the configuration in place of the name of its file.

    text: the content of that file. Answers None for the document where it holds no configuration
    that can be used, with what is wrong in that file.
    """
    trees, problems = read(text, KubernetesReader)
    configuration = None
    if len(trees) == 1:
        configuration, wrong = validate_part(trees[0], KubeSchedulerConfiguration)
        problems += wrong
    elif not problems:
        hint = "leave out the others: kube-scheduler reads the first alone" if trees else ""
        problems = [FileProblem(TextSpan(), f"must hold one document, and has {len(trees)}", hint)]
    if configuration is None or problems:
        return None, problems
    return made.model_copy(update={"configuration": configuration, "configFile": None}), []


def config_file_problem(tree: Tree, file: str, why: str) -> FileProblem:
    """What is wrong with a document whose `configFile` cannot be read.

    tree: the document, to find where the name stands. why: what became of reading, as a predicate.
    """
    spec = tree.value["spec"] if isinstance(tree.value, dict) else tree
    mark = spec.value["configFile"].mark if isinstance(spec.value, dict) else spec.mark
    return FileProblem(mark, f"spec.configFile: {file} {why}")

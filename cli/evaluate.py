"""``okn eval``: how good the answers are, measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer
from openknowledge.cli.options import (
    EmbeddingCache,
    EmbeddingModel,
    EmbeddingUrl,
    Json,
    Out,
    PathArgument,
    Spec,
)

if TYPE_CHECKING:
    from openknowledge.schemas.evaluation import RetrievalReport, SourcesReport

eval_app = typer.Typer(
    help="Measure the answers on judged questions.", no_args_is_help=True, rich_markup_mode=None
)


def register(app: typer.Typer) -> None:
    """Add the command group to ``app``."""
    app.add_typer(eval_app, name="eval")


@eval_app.callback()
def group() -> None:
    """Measure the answers on judged questions."""


@eval_app.command("run")
def run(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="A dataset file, YAML or JSON.")],
    path: PathArgument = ".",
    base: Annotated[
        Optional[str],  # noqa: UP045 - typer reads this annotation at run time
        typer.Option(
            "--base", metavar="GITREF", help="Run the questions on this git revision too, and compare."
        ),
    ] = None,
    gate: Annotated[
        str,
        typer.Option(
            "--gate",
            metavar="all|regressions",
            help="With --base: fail on any failed case, or on worse ones.",
        ),
    ] = "all",
    embedding_url: EmbeddingUrl = "",
    embedding_model: EmbeddingModel = "",
    embedding_cache: EmbeddingCache = None,
    spec: Spec = "latest",
    as_json: Json = False,
    out: Out = None,
) -> int:
    """Run a dataset of judged questions against a bundle.

    A retrieval dataset gives MRR, recall and nDCG for sections and pages, with gates; a sources dataset
    checks what a context packet must hold. Exit code 0 when it passes, 1 when a case or gate fails, 2 for a
    dataset that is not valid.

    \b
    Examples:
      okn eval run corpora/eval/http-retrieval-test.yaml corpora/http
      okn eval run questions.yaml --base origin/main --gate regressions --json
    """
    from openknowledge.cli.context import clock, filled, open_store, vector_route
    from openknowledge.cli.output import emit, to_json
    from openknowledge.engine.analysis.eval_dataset import RetrievalDataset, read_dataset
    from openknowledge.engine.analysis.eval_retrieval import run_retrieval
    from openknowledge.engine.analysis.eval_sources import GATES, Base, run_sources
    from openknowledge.engine.errors import UsageError

    chosen = next((name for name in GATES if name == gate), None)
    if chosen is None:
        raise UsageError(f"unknown gate {gate!r}; choose one of {', '.join(GATES)}")
    read = read_dataset(dataset)
    store = open_store(path, spec)
    if isinstance(read, RetrievalDataset):
        if base is not None or gate != "all":
            raise UsageError("--base and --gate are for datasets of type openknowledge.eval")
        route = vector_route(store, embedding_url, embedding_model, embedding_cache)
        retrieval = run_retrieval(store.search_index, read, embedding=route)
        emit(to_json(retrieval) if as_json else retrieval_text(retrieval), out)
        return 1 if retrieval["summary"]["status"] == "fail" else 0
    earlier = None
    if filled("--base", base):
        assert base is not None  # noqa: S101 - it is filled
        from openknowledge.engine.analysis.git_revisions import store_at

        earlier = Base(base, store_at(store.root, base, clock(), spec=spec).search_index)
    elif gate == "regressions":
        raise UsageError("--gate regressions needs --base, the revision to compare with")
    sources = run_sources(store.search_index, read, base=earlier, gate=chosen)
    emit(to_json(sources) if as_json else sources_text(sources), out)
    return 1 if sources["summary"]["status"] == "fail" else 0


def retrieval_text(report: RetrievalReport) -> str:
    """Return the figures of a retrieval evaluation as a table."""
    from openknowledge.cli.tables import table

    rows = []
    header = ["system", "level", "questions", "MRR"]
    for system in report["systems"]:
        for level, summary in (("section", system["section"]), ("document", system["document"])):
            figures = [f"{summary['mrr']:.3f}"]
            names = ["MRR"]
            for cutoff in summary["cutoffs"]:
                names += [f"recall@{cutoff['k']}", f"nDCG@{cutoff['k']}"]
                figures += [f"{cutoff['recall']:.3f}", f"{cutoff['ndcg']:.3f}"]
            header = ["system", "level", "questions", *names]
            rows.append([system["name"], level, str(summary["queries"]), *figures])
    lines = [table(header, rows)]
    for gate in report["gates"]:
        actual = f"{gate['actual']:.3f}" if "actual" in gate else "-"
        lines.append(
            f"{gate['status']}: {gate['id']}: {gate['metric']} {actual}, wanted {gate['minimum']:.3f}\n"
        )
    lines.append(f"{report['summary']['status']}\n")
    return "".join(lines)


def sources_text(report: SourcesReport) -> str:
    """Return each case with the checks that failed."""
    lines = []
    for case in report["cases"]:
        outcome = f" ({case['outcome']})" if "outcome" in case else ""
        lines.append(f"{case['status']}: {case['id']}: {case['question']}{outcome}")
        lines += [f"  {check['message']}" for check in case["checks"] if check["status"] == "fail"]
    summary = report["summary"]
    lines.append(f"{summary['status']}: {summary['passed']} of {summary['total']} cases pass")
    return "\n".join(lines) + "\n"

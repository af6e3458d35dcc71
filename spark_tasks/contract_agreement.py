"""Do state, checkpoints and table keep what the contract promises?"""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import SparkSession

from bot.incident.contract_terms import cadence_term, fresh_term, in_order, observed_terms
from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import ContractAgreementFinding, FreshnessFinding, Term
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted, span
from spark_tasks import freshness
from spark_tasks._support.words import MAX_ROWS

TASK = Task(
    name="contract_agreement",
    title="Contract agreement",
    question="Do the job's state, its checkpoints and the table keep their contracts?",
    confirmed_means="the state, the checkpoints or the table break a term of a contract",
    ruled_out_means="every term that can be observed holds",
    needs=("table", "jobs", "checkpoints"),
    cost="what is in hand, and manifests of the newest commits with rows",
    reads="metadata",
    version=2,
)
_TAG = "waterline"


def answer(spark: SparkSession, ask: Ask) -> Answer:
    """The terms of the contract review that need no incident, and each figure that the contract names.

    Keys and positions are questions of their own. `ruled-out` needs Flink and the checkpoint storage to have been
    asked, and some term to be told; one that nothing tells yet is said to be so.
    """
    world = ask.observation
    trusted = ask.trusted if ask.trusted is not None else world.table.ref(_TAG)
    promised = ask.contract
    found = [*observed_terms(world, promised, trusted)]
    if promised.commit_every is not None:
        found.append(cadence_term(world.table, ask.window.since, promised.commit_every))
    if promised.freshness is not None:
        found.append(_fresh(spark, ask))
    terms = tuple(in_order(found))
    unseen = tuple(source for source in (world.jobs, world.checkpoints) if isinstance(source, NotSeen))
    verdict, headline = _judged(terms, unseen)
    return Answer(
        verdict=verdict,
        headline=headline,
        measures=(
            Measure(name="terms that hold", value=sum(term.holds is True for term in terms), unit="terms"),
            Measure(name="terms that do not hold", value=sum(term.holds is False for term in terms), unit="terms"),
            Measure(name="terms that are not known", value=sum(term.holds is None for term in terms), unit="terms"),
        ),
        columns=("of", "term", "holds", "observed", "what to do"),
        rows=tuple(_row(each) for each in _broken_first(terms)[:MAX_ROWS]),
        finding=ContractAgreementFinding(terms=terms),
        sources=tuple(s.source for s in (world.jobs, world.checkpoints) if not isinstance(s, NotSeen)),
        could_not_look=unseen,
    )


def _judged(terms: Sequence[Term], unseen: Sequence[NotSeen]) -> tuple[Verdict, str]:
    broken = [term for term in terms if term.holds is False]
    untold = sum(term.holds is None for term in terms)
    cannot = f"; {counted(untold, 'term')} are not known" if untold else ""
    if broken:
        does = "does" if len(broken) == 1 else "do"
        first = f"{broken[0].term} {broken[0].observed}".rstrip(".")
        return (
            Verdict.CONFIRMED,
            f"{len(broken)} of {counted(len(terms), 'term')} {does} not hold{cannot}. The first: {first}.",
        )
    if terms and untold == len(terms) and not unseen:
        return Verdict.INCONCLUSIVE, f"None of {counted(untold, 'term')} is known yet."
    kept = f"{len(terms) - untold} of {counted(len(terms), 'term')} hold and none is broken"
    if unseen:
        return Verdict.INCONCLUSIVE, f"{kept}{cannot}: {unseen[0].reason}"
    return Verdict.RULED_OUT, f"{kept}{cannot} yet." if untold else f"All {counted(len(terms), 'term')} hold."


def _fresh(spark: SparkSession, ask: Ask) -> Term:
    """Freshness as its own evidence task tells it."""
    promised = ask.contract.freshness
    assert promised is not None
    told = freshness.answer(spark, ask).finding
    age = told.event_age_s if isinstance(told, FreshnessFinding) else None
    if age is None:
        return fresh_term(promised, "Its age is not known.", None)
    observed = f"It was {span(timedelta(seconds=age))} old when the metadata was read."
    return fresh_term(promised, observed, timedelta(seconds=age) <= promised)


def _broken_first(found: Sequence[Term]) -> list[Term]:
    rank = {False: 0, None: 1, True: 2}
    return sorted(in_order(found), key=lambda each: rank[each.holds])


def _row(found: Term) -> tuple[str, ...]:
    holds = "not known" if found.holds is None else "yes" if found.holds else "NO"
    return (found.contract, found.term, holds, found.observed, found.action)

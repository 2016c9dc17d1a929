"""Every theorem, algorithm, figure and table of the three papers, where it is here, and in what state.

``python -m dpmcmc_experiments.papers docs/results`` writes ``papers.md`` there. A place is a file of the repository,
with ``::name`` the function or class in it; a figure names what ``dpmcmc reproduce`` writes: table, picture, checks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

STATES = {
    "reproduced": "run again; every check of it holds",
    "disputed": "run again; a check of it does not hold, and the page says which and why",
    "in part": "run again in part; the note says what is missing",
    "refuted": "a statement that fails, with a proof or an exact counterexample",
    "implemented": "a bound or an algorithm that can be called, and is tested",
    "stated": "a statement that is said and used, or proven, where the link leads; nothing to call",
    "absent": "not here; the note says why",
}
PUBLISHED, ACCEPT, THEORY = "src/dpmcmc/privacy/published", "src/dpmcmc/chain/acceptance", "docs/theory"


@dataclass(frozen=True)
class Item:
    """One numbered thing of a paper. ``figure`` is its name under ``dpmcmc reproduce``, ``rows`` the table it draws."""

    name: str
    state: str
    places: tuple[str, ...] = ()
    note: str = ""
    figure: str = ""
    rows: str = ""

    def results(self, paper: str) -> tuple[str, ...]:
        """The files that a figure has: table, picture (a table of the paper has none) and checks."""
        if not self.figure:
            return ()
        picture = () if self.name.startswith("Table") else (f"{self.figure}.png",)
        names = (f"{self.rows or self.figure}.csv", *picture, f"{self.figure}-checks.csv")
        return tuple(f"docs/results/{paper}/{name}" for name in names)


HEIKKILA = (
    Item("Lemma 1", "stated", (f"{PUBLISHED}/heikkila2019.py::exact_batch_rdp",), "divergence of two normals"),
    Item("Theorem 1", "implemented", (f"{PUBLISHED}/heikkila2019.py::theorem1_rdp", f"{THEORY}/published.md")),
    Item("Corollary 1", "implemented", (f"{PUBLISHED}/heikkila2019.py::corollary1_epsilon",)),
    Item("Lemma 2", "stated", ("src/dpmcmc/mechanisms/clip.py::DistanceClip",), "a Lipschitz bound is a clip here"),
    Item("Table 1", "absent", note="a list of symbols"),
    Item("Theorem 2", "implemented", (f"{PUBLISHED}/heikkila2019.py::theorem2_rdp", f"{THEORY}/published.md")),
    Item("Corollary 2", "implemented", (f"{PUBLISHED}/heikkila2019.py::corollary2_epsilon",)),
    Item("DP MCMC (no number)", "implemented", (f"{ACCEPT}/corrected_barker.py", f"{THEORY}/subsampling.md")),
    Item("c-posterior, N₀ = Nβ/(β + N)", "implemented", ("src/dpmcmc/posterior.py::coarsened",)),
    Item("Figure 1a", "reproduced", figure="fig1a", note="300 points drawn"),
    Item("Figure 1b", "reproduced", figure="fig1b", note="134 points drawn"),
    Item(
        "Figure 1c", "reproduced", figure="fig1c", note="against a simulation of the public code: no values published"
    ),
    Item("Figure 2", "reproduced", figure="fig2", note="NeurIPS's: 40 000 and 20 000 draws; arXiv's has 5000"),
    Item("Figure 3", "disputed", figure="fig3", note="NeurIPS's, with DP-SGLD; the clip makes variances too small"),
    Item("Propositions 1 and 2, Corollary 3", "implemented", (f"{PUBLISHED}/classical.py::amplified_rdp",)),
    Item("Proposition 3", "implemented", (f"{PUBLISHED}/classical.py::rdp_to_dp",)),
    Item(
        "Theorem 3",
        "refuted",
        (f"{ACCEPT}/error_bounds.py::published_sampling_error", f"{THEORY}/correction.md"),
        "as printed, without variance 1; `sampling_error` is ours (Theorem 1 of the NeurIPS supplement)",
    ),
    Item("Lemma 3, Theorem 4", "implemented", (f"{ACCEPT}/error_bounds.py::acceptance_error",)),
    Item("Theorem 5", "implemented", (f"{ACCEPT}/error_bounds.py::stationary_error",)),
    Item("Figure 4 (S4)", "reproduced", figure="figS4", note="arXiv's number; Figure 1 of the NeurIPS supplement"),
    Item("Figure 5 (S5)", "reproduced", figure="figS5", note="with the gaps of the ridge solution; supplement: 2"),
    Item("Figure 6 (S6)", "reproduced", figure="figS6", note="empirical cdfs, as drawn; exact ones too; supplement: 3"),
)

RAISA = (
    Item(
        "Theorem 2.5", "implemented", (f"{PUBLISHED}/classical.py::rdp_to_dp", f"{PUBLISHED}/classical.py::zcdp_to_dp")
    ),
    Item("Theorems 2.7 and 2.8", "stated", (f"{THEORY}/conversion.md",), "composition, post-processing"),
    Item("Theorem 2.11", "implemented", (f"{PUBLISHED}/raisa2021.py::theorem211_delta",)),
    Item("Algorithm 1", "implemented", (f"{ACCEPT}/unprotected.py",), "Metropolis–Hastings, not private"),
    Item(
        "Lemmas and theorems 2.15 to 2.32",
        "absent",
        note="measure theory for Theorem 4.6, which is proven otherwise here",
    ),
    Item(
        "Theorem 3.1", "implemented", (f"{PUBLISHED}/yildirim2019.py", f"{THEORY}/published.md"), "of Yıldırım & Ermiş"
    ),
    Item("Theorem 3.2", "implemented", (f"{PUBLISHED}/raisa2021.py::theorem32_delta",)),
    Item("Algorithm 2", "implemented", (f"{PUBLISHED}/raisa2021.py::theorem32_steps",), "the largest number of steps"),
    Item("DP penalty (no number)", "implemented", (f"{ACCEPT}/penalty.py", f"{THEORY}/accept-bit.md")),
    Item("OCU and GWMH (no number)", "implemented", ("src/dpmcmc/chain/proposals/guided.py",)),
    Item(
        "Theorem 3.3", "implemented", (f"{PUBLISHED}/raisa2021.py::theorem33_steps",), "Corollary 2 of Heikkilä et al."
    ),
    Item("Algorithm 3", "implemented", (f"{ACCEPT}/corrected_barker.py",), "DP Barker"),
    Item("Lemma 3.4", "implemented", (f"{PUBLISHED}/raisa2021.py::theorem35_sensitivity", f"{THEORY}/published.md")),
    Item("Theorem 3.5", "implemented", (f"{PUBLISHED}/raisa2021.py::theorem35_rdp", f"{THEORY}/published.md")),
    Item("Theorem 4.1", "stated", (f"{THEORY}/dp-hmc.md",), "a case of the claim there"),
    Item(
        "Algorithm 4",
        "implemented",
        ("src/dpmcmc/chain/proposals/leapfrog.py", f"{THEORY}/dp-hmc.md"),
        "with two corrections",
    ),
    Item("Theorem 4.2", "implemented", (f"{PUBLISHED}/raisa2021.py::theorem42_zcdp",)),
    Item("Theorem 4.3", "implemented", (f"{PUBLISHED}/raisa2021.py::theorem43_delta",)),
    Item(
        "Lemmas 4.4 and 4.5, Theorem 4.6", "stated", (f"{THEORY}/dp-hmc.md",), "proven there for any law of the noise"
    ),
    Item("Theorem 4.7", "stated", (f"{THEORY}/dp-hmc.md",), "for normal noise"),
    Item("friction variant (section 4.3)", "stated", (f"{THEORY}/dp-hmc.md",), "why its test fails; nothing to call"),
    Item("Figure 4.1", "reproduced", figure="fig4.1"),
    Item(
        "Theorem 5.2", "implemented", ("experiments/dpmcmc_experiments/targets/banana.py",), "the banana as a posterior"
    ),
    Item("Table 5.1", "reproduced", figure="table5.1"),
    Item("Figure 5.1", "reproduced", figure="fig5.1"),
    Item("Figure 6.1", "reproduced", figure="fig6.1", note="300 points drawn"),
    Item("Figure 6.2", "reproduced", figure="fig6.2"),
    Item(
        "Figure 6.3", "disputed", figure="fig6.3", note="89.5 % of medians in the box; 10 of 143 boxes not run (DP HMC)"
    ),
    Item("Figure 6.4", "in part", figure="fig6.4", note="3 of 54 boxes not run, 2 by a plain program (DP HMC)"),
    Item("Figure 6.5", "disputed", figure="fig6.5", rows="fig6.3", note="most cells: a mean against a median"),
    Item("Figure 6.6", "disputed", figure="fig6.6", rows="fig6.4", note="most cells: a mean against a median"),
    Item(
        "Figure 6.7", "in part", figure="fig6.7", note="DP penalty at ε = 0.75 and 1 not run; clip shares do not hold"
    ),
    Item("Figure 6.8", "disputed", figure="fig6.8", note="narrow banana counted along paths; else starts of paths"),
)

FAST = f"{THEORY}/fast-mh.md"
ZHANG = (
    Item("Theorem 1", "implemented", (f"{PUBLISHED}/zhang2023.py::theorem1_std",), "the Gaussian mechanism: true"),
    Item("Algorithm 1", "implemented", (f"{ACCEPT}/tuna.py::TunaMH",), "TunaMH with a fixed λ: `rate=`; not private"),
    Item(
        "Algorithm 2",
        "implemented",
        (f"{ACCEPT}/fast_mh.py::PublishedFastMH",),
        "for comparison; as printed and as coded",
    ),
    Item("Assumptions 1 and 2", "stated", (FAST,)),
    Item("Lemma 1", "implemented", (f"{PUBLISHED}/zhang2023.py::minibatch_sensitivity",), "of one draw of a record"),
    Item("Theorem 2", "refuted", (f"{PUBLISHED}/zhang2023.py::theorem2", FAST), "a rejection tells neighbours apart"),
    Item("Theorem 3", "refuted", (FAST,), "as printed; the code's branch is reversible"),
    Item(
        "Theorem 4", "refuted", (f"{PUBLISHED}/zhang2023.py::theorem4", FAST), "a branch is left out; `gap_kept` holds"
    ),
    Item("composition (Appendix B)", "implemented", (f"{PUBLISHED}/zhang2023.py::best_composition",), "and optimally"),
    Item("choice of K (section 6.2, Appendix E)", "implemented", (f"{PUBLISHED}/zhang2023.py::recommended_batch",)),
    Item(
        "Figure 1a",
        "disputed",
        figure="fig1a",
        note="the penalty algorithm is nearer than DP-fast MH on minibatches at ε = 0.01 and 0.05; three values of ε",
    ),
    Item("Figure 1b", "disputed", figure="fig1b", note="with K = εC/max c batches shrink with ε, not grow"),
    Item("Figure 1c", "disputed", figure="fig1c", note="by iterations the penalty algorithm is not slower at ε = 0.05"),
    Item("Figure 1d", "disputed", figure="fig1d", note="processor time on a shared machine, compilation left out"),
    Item("Figure 2", "disputed", figure="fig2", note="no sampler fails, and the truncated posterior has one ridge"),
    Item("Figure 3a", "absent", note="`--figure mnist-a` runs it; no complete run is kept yet"),
    Item("Figure 3b", "absent", note="`--figure mnist-b` runs it; no complete run is kept yet"),
    Item("Figure 3c", "absent", note="`--figure mnist-c` runs it; no complete run is kept yet"),
    Item("Figure 4", "reproduced", figure="fig4", note="per record read DP-fast MH on minibatches is fastest"),
)

PAPERS = {"heikkila2019": HEIKKILA, "raisa2021": RAISA, "zhang2023": ZHANG}
TITLES = {
    "heikkila2019": "Heikkilä, Jälkö, Dikmen & Honkela (2019)",
    "raisa2021": "Räisä (2021)",
    "zhang2023": "Zhang & Zhang (2023)",
}
NUMBERING = {
    "heikkila2019": "Numbers are the arXiv version's; the NeurIPS supplement, its appendix, counts from 1 again.",
    "raisa2021": "Definitions are left out.",
    "zhang2023": "The paper prints no table.",
}
ABOUT = """# What of the papers is here

Every theorem, algorithm, figure and table of the three papers, where it is, and in what state. Made by `python -m
dpmcmc_experiments.papers docs/results`; tests check that every file and name is there, and that the state of a figure
is what its checks say.

"""


def link(place: str) -> str:
    """A Markdown link from docs/results."""
    path, _, name = place.partition("::")
    target = path.removeprefix("docs/results/") if path.startswith("docs/results/") else f"../../{path}"
    return f"[{'`' + name + '`' if name else Path(path).name}]({target})"


def _lines() -> Iterator[str]:
    yield from (f"- **{state}**: {meaning}\n" for state, meaning in STATES.items())
    for paper, items in PAPERS.items():
        yield f"\n## [{TITLES[paper]}]({paper}.md)\n\n{NUMBERING[paper]}\n\n"
        yield "| item | where | state | note |\n|---|---|---|---|\n"
        for item in items:
            where = ", ".join(link(place) for place in (*item.places, *item.results(paper)))
            yield f"| {item.name} | {where or '–'} | {item.state} | {item.note} |\n"


def page() -> str:
    return ABOUT + "".join(_lines())


def main() -> None:
    (Path(sys.argv[1] if len(sys.argv) > 1 else "docs/results") / "papers.md").write_text(page())


if __name__ == "__main__":
    main()

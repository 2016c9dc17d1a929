"""Progress in a notebook, with a real kernel: a line that changes in place, and no warning."""

import pytest


@pytest.mark.slow
def test_a_bar_in_a_notebook_without_widgets():
    nbclient = pytest.importorskip("nbclient")
    from nbformat.v4 import new_code_cell, new_notebook

    cell = (
        "import sys, warnings; warnings.simplefilter('error'); sys.modules['ipywidgets'] = None\n"
        "import dpmcmc.progress as progress; progress.find_spec = lambda name: None\n"
        "with progress.Bar(200, True, 'steps') as bar:\n"
        "    for done in range(201): bar.update(done)"
    )
    book = new_notebook(cells=[new_code_cell(cell), new_code_cell("dp = __import__('dpmcmc'); dp.Budget(1.0, 1e-6)")])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    shown = book.cells[0].outputs
    assert [output.output_type for output in shown] == ["display_data"]
    assert shown[0].data["text/plain"].startswith("100 %")


def test_a_bar_elsewhere_is_quiet_when_asked_to_be(capsys):
    from dpmcmc.progress import Bar

    with Bar(10, False, "steps") as bar:
        bar.update(10)
    assert capsys.readouterr() == ("", "")

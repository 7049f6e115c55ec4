"""Check the package's public names, and that importing them loads no more than needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

import compaction


@pytest.mark.parametrize("name", compaction.__all__)
def test_each_name_is_the_class_or_the_function_that_is_called_so(name):
    found = getattr(compaction, name)
    assert callable(found)
    assert found.__name__ == name


def test_a_name_that_is_not_there_is_reported():
    with pytest.raises(AttributeError) as refused:
        compaction.shrink  # noqa: B018  asking is what fails
    assert "'shrink'" in str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fork", "undo"])
def test_a_function_stays_what_it_is_once_its_module_is_imported(name):
    said = ran(f"import compaction.branching.{name}; from compaction import {name}; print(callable({name}))")
    assert said == "True"


def test_who_undoes_loads_neither_policies_nor_summarizers():
    heavy = (
        "compaction.compactor",
        "compaction.policy",
        "compaction.summarizers",
        "compaction.templates",
    )
    assert (
        ran(
            f"import sys, compaction.branching.undo; print([each for each in {heavy} if each in sys.modules])"
        )
        == "[]"
    )


def ran(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()

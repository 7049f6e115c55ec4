"""Nodes on paper: a layout that holds what records of five harnesses mean, tried on the two that have no reader.

A node is what a record means. `node.py` has the vocabulary and the walk that makes a context of it, `codex.py` and
`opencode.py` make nodes of records. The tests compare with what the programs sent, and with folds that know no nodes.
"""

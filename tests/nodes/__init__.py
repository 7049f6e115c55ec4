"""Nodes on paper: a layout that holds what records of different harnesses mean, before the store keeps it.

A node is what a record means. `node.py` has the vocabulary and the walk that makes a context of it, and the file of a
harness makes nodes of its records. The tests compare with what the programs sent, and with contexts made without nodes.
"""

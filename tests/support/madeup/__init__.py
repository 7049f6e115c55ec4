"""A made-up harness that has what pi has not, added as any harness is: its format, its rules, one registry line.

Its sources are files of lines, of which one holds several sessions and a child may come before its parent; JSON
documents and SQLite databases, both of which it changes in place.
"""

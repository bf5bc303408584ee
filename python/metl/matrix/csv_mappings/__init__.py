"""Mappings as CSV, one cell of the matrix per line, so that people can edit them with other tools.

format   column names, and escaping against formula injection
parse    file to lines, collecting every problem
apply    lines to the matrix: checked, planned, set
export   matrix to file
"""

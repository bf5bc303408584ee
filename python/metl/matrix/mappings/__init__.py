"""The ones of the matrix as CSV, one line each, so that people can work on them with other tools.

cells    the columns, and what keeps spreadsheets from taking names for formulas
read     a file to lines, with every mistake at once
store    lines to the matrix: checked, planned, set
write    the matrix to a file
"""

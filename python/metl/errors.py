"""The errors of METL.

    MetlError        something outside failed; exit code 1
    ├── Interrupted  by Ctrl-C, while a process that it started goes on; exit code 130
    ├── PartFailed   a part of the stack does not run or answer
    └── BadInput     the user can correct it: a wrong value, a missing program; exit code 2

Every message is a sentence that names the value and the way out. The command line prints it
without a traceback; a traceback always means a bug in METL.
"""


class MetlError(Exception):
    exit_code = 1


class Interrupted(MetlError):
    exit_code = 130


class PartFailed(MetlError):
    pass


class BadInput(MetlError):
    exit_code = 2

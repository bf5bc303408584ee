"""What METL says when something goes wrong.

    MetlError        something outside failed; exit code 1
    ├── Interrupted  by Ctrl-C, where something goes on all the same; exit code 130
    ├── PartFailed   a part of the stack does not run or does not answer
    └── BadInput     the user can mend it: a wrong value, a missing program; exit code 2

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

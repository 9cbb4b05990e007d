"""Our own failures. A fault in the reader's program is a finding, never one of these."""


class AfterwardError(Exception):
    """Base of everything a door (command line, plugin) turns into one clear line and an exit status."""


class ProgramNotFound(AfterwardError):
    """The program to run is not there, or is not a file that Python can run."""


class SourceUnreadable(AfterwardError):
    """A source file could not be read or is not valid Python."""


class ReportNotWritten(AfterwardError):
    """The report could not be written where it was asked for."""


class UnknownRule(AfterwardError):
    """No rule has that code or name."""


class HistoryUnreadable(AfterwardError):
    """A file is not a history that afterward has saved."""


class UnknownExample(AfterwardError):
    """No shipped example, or no program of it, has that name."""


class ExampleNotRunnable(AfterwardError):
    """A shipped example needs a library that is not installed."""

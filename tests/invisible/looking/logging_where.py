"""logging finds its caller: findCaller, stack_info, stacklevel, LogRecord fields, warnings captured."""
import logging
import sys
import warnings

logging.basicConfig(stream=sys.stdout, format="%(filename)s:%(lineno)d:%(funcName)s:%(module)s:%(processName)s:%(threadName)s %(message)s", level=1)
log = logging.getLogger("x")


def helper(msg, **kw):
    log.info(msg, **kw)


def user():
    helper("one")
    helper("two", stacklevel=2)
    helper("three", stacklevel=3)
    helper("stack", stack_info=True)
    try:
        {}["k"]
    except KeyError:
        log.exception("caught")
        helper("with", exc_info=True, stack_info=True, stacklevel=2)


user()
[helper("in comprehension", stacklevel=2) for _ in range(2)]
logging.captureWarnings(True)
warnings.warn("w1")
warnings.warn("w2", stacklevel=2)


def deprecated():
    warnings.warn("old", DeprecationWarning, stacklevel=2)


deprecated()
class H(logging.Handler):
    def emit(self, record):
        raise RuntimeError("handler broke")


log.addHandler(H())
log.warning("x %s")
log.warning("y")

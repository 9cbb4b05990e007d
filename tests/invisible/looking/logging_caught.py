import logging
import sys

logging.basicConfig(
    stream=sys.stderr,
    level=logging.DEBUG,
    format="%(levelname)s %(name)s %(module)s:%(lineno)d %(funcName)s %(threadName)s %(message)s",
)
log = logging.getLogger(__name__)


def risky(n):
    if n % 2:
        raise RuntimeError(f"odd {n}")
    return n


for i in range(4):
    try:
        risky(i)
    except RuntimeError:
        log.exception("skipped %d", i)
    else:
        log.info("fine", stack_info=i == 2)
log.error("last", stacklevel=2)

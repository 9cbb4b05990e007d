import collections


class Writer:
    """Keeps scalars in memory and writes them out now and then."""

    def __init__(self, flush_every):
        self.flush_every = flush_every
        self.scalars = collections.defaultdict(list)

    def add(self, tag, value, step):
        self.scalars[tag].append((step, value))
        if len(self.scalars[tag]) >= self.flush_every:
            self.scalars[tag].clear()

    def summary(self):
        return {tag: "%.4f" % float(sum(v for _, v in rows) / len(rows)) for tag, rows in self.scalars.items()}

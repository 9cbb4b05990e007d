import dataclasses, enum, typing, functools, abc, torch, collections
@dataclasses.dataclass(slots=True, order=True)
class State:
    h: torch.Tensor = dataclasses.field(repr=False, compare=False)
    n: int = 0
    log: list = dataclasses.field(default_factory=list)
class Mode(enum.Flag):
    A = enum.auto(); B = enum.auto()
class Meta(type):
    def __getattribute__(c, n):
        hits[n] += 1
        return type.__getattribute__(c, n)
hits = collections.Counter()
class Lazy(metaclass=Meta):
    def __init__(self): self.v = torch.ones(2, requires_grad=True)
    def __getattribute__(self, n): hits["i." + n] += 1; return object.__getattribute__(self, n)
    def __iter__(self): hits["iter"] += 1; return iter(())
    def __len__(self): hits["len"] += 1; return 0
    def __class_getitem__(cls, i): return cls
    @property
    def __dict__(self): hits["dict"] += 1; return {}
lz = Lazy(); s = State(torch.zeros(2))
class D(dict):
    def __getitem__(self, k): hits["d"] += 1; return super().__getitem__(k)
    def values(self): hits["vals"] += 1; return super().values()
    def items(self): hits["items"] += 1; return super().items()
d = D(lz=lz, s=s)
@functools.lru_cache
def cached(n): return torch.full((2,), float(n))
for i in range(70):
    s.h = s.h.detach() + lz.v * cached(i % 3); s.h.sum().backward(); s.log.append(s.h)
try: s.log[3].sum().backward(); s.log[3].exp().sum().backward()
except RuntimeError as e: print(str(e)[:30])
print(sorted(hits.items())); print(cached.cache_info(), Mode.A | Mode.B, typing.get_type_hints(State)["n"], s < dataclasses.replace(s, n=3))

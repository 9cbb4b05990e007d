import warnings


def deprecated(x):
    warnings.warn(f"old {x}", DeprecationWarning, stacklevel=2)


def caller():
    deprecated(1)
    deprecated(1)


with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("default")
    caller()
    caller()
print([(str(w.message), w.lineno, w.filename[-7:]) for w in caught])
warnings.simplefilter("once")
for _ in range(3):
    warnings.warn("once only")
print(
    sorted(
        k[2] if isinstance(k, tuple) else k for k in globals().get("__warningregistry__", {}) if isinstance(k, tuple)
    )
)
warnings.simplefilter("error")
caller()

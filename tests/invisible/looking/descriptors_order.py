log = []


class Space(dict):
    def __setitem__(self, key, value):
        log.append(("set", key))
        super().__setitem__(key, value)

    def __getitem__(self, key):
        log.append(("get", key))
        return super().__getitem__(key)

    def __delitem__(self, key):
        log.append(("del", key))
        super().__delitem__(key)


class Meta(type):
    def __prepare__(name, bases):
        return Space()


class Field:
    def __set_name__(self, owner, name):
        log.append(("name", name))


class Thing(metaclass=Meta):
    """Doc."""

    a: int = 1
    b = Field()
    for i in range(2):
        c = i
    del c
    try:
        missing  # noqa: B018
    except NameError:
        d = "caught"
    if a:
        e = [x for x in (1, 2)]


for entry in log:
    print(*entry)
exec("p = 1\nq = p\n", {"__builtins__": {}}, space := Space())
print(log[-4:])

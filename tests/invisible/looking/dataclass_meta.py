import dataclasses
import enum
import typing


class Registry(type):
    made = []

    def __new__(mcs, name, bases, space, **kw):
        Registry.made.append((name, sorted(space), kw))
        return super().__new__(mcs, name, bases, space)

    def __prepare__(name, bases, **kw):
        return {"prepared": True}


class Base(metaclass=Registry, flag=1):
    x: int = 1
    y: "typing.List[int]"

    def m(self):
        return __class__


@dataclasses.dataclass(frozen=True, order=True, slots=True)
class Point:
    x: int
    y: int = dataclasses.field(default=2, metadata={"unit": "m"})
    z: typing.ClassVar[int] = 3


class Color(enum.Enum):
    RED = enum.auto()
    GREEN = enum.auto()

    @property
    def low(self):
        return self.name.lower()


print(Registry.made, Base().m(), Base.__annotations__, typing.get_type_hints(Base))
print(Point(1), Point(1) < Point(2), dataclasses.fields(Point)[1].metadata, Point.__annotations__, Point.__slots__)
print(
    list(Color), Color.RED.low, Color.__members__.keys(), __annotations__ if "__annotations__" in globals() else "none"
)
local: int = 3
print(__annotations__)

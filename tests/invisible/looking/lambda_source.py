import inspect

square = lambda x: x * x  # noqa: E731
print(square(3), inspect.getsource(square).strip(), inspect.getsourcelines(square)[1])


class Shape:
    side = 2

    def area(self) -> int:
        """How much."""
        return self.side**2


print(inspect.getsource(Shape), inspect.signature(Shape.area), inspect.getdoc(Shape.area), inspect.getfile(Shape)[-15:])

"""Prints the numbers of its parameters, whichever way it is run."""

import atexit


def tell() -> None:
    import __main__

    for parameter in __main__.parameters:
        print(parameter.detach().double().sum().item().hex(), parameter.detach().flatten()[:3].tolist())


atexit.register(tell)

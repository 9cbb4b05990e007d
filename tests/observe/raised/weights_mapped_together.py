import torch
from torch import nn

student, teacher = nn.Linear(3, 2), nn.Linear(3, 2)


def average():
    for own, other in zip(student.parameters(), teacher.parameters()):
        own.map_(other, lambda a, b: (a + b) / 2)  # raises AFT503: own


average()

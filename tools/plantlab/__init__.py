"""Plants faults in correct programs, and asks afterward about them (`tools/plant.py`)."""

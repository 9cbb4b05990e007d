"""Code as people paste it: text that does not quite parse, and names that are defined nowhere.

`reading` makes text into a syntax tree and keeps the way back to its lines and columns. `uses` collects what a file
does with its names, `meaning` says what a name must be for that to make sense, and `standins` makes such a value. What
a finding assumed in this way is said with it.
"""

/* What `_lines.c` asks of a mark: one that is no constant of the code, but stands for a line of it. */

#ifndef AFTERWARD_MARKS_H
#define AFTERWARD_MARKS_H

#include "_tape.h"

typedef struct {
    void (*again)(void *); /* switches the events of all lines on again */
    void *lines;           /* whose; NULL where there are none */
} OfLines;

extern PyTypeObject *mark_type, *board_type;

OfLines *board_lines(PyObject *board);
int board_is_unsure(PyObject *board);
/* Meet a mark. -1: the program's own signal handler has raised. 1: its events may rest until a node has been made. */
int meet_line(PyObject *mark);

#endif

/* What the files of the tape share: its record, and how a mark is written. */

#ifndef AFTERWARD_TAPE_H
#define AFTERWARD_TAPE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <structmember.h>
#include <time.h>

#define SHIFT 40                    /* as in statements.py */
#define STEP (UINT64_C(1) << 60)    /* these as in tape.py */
#define RETAINS (UINT64_C(1) << 61)
#define CREATES (UINT64_C(1) << 62)
#define GRAD (UINT64_C(1) << 59)

#define MARKS 8192 /* as in tape.py */
#define NOTES (3 * 2048)
#define SITES 256
#define TIMES 8192 /* as in tape.py */

typedef uint64_t (*Counter)(void);

typedef struct {
    PyObject_HEAD
    /* What every mark touches comes first, so that it lies together: beside torch each line of memory is a cold one. */
    Counter counter; /* of torch: how many nodes this thread has made */
    uint64_t shift;  /* so many numbers were left for nodes that other threads made (node_numbers.py) */
    uint64_t begun;  /* the number of the next node, as the last pass began */
    unsigned long long moment; /* how many marks there have been */
    uint64_t last;             /* the last of them */
    Py_ssize_t marked, timed, noted; /* how many numbers there are in each buffer below */
    unsigned long thread;
    int skipped;   /* has a pass gone by without a look? */
    int steps_due; /* optimizer steps still to be looked at */
    PyObject *on_full;  /* () when a buffer is full */
    PyObject *on_other; /* (number) for a mark in another thread */
    PyObject *on_pass;  /* (outputs, args, kwargs) for a pass that is to be noted in full */
    PyObject *on_step;  /* (optimizer) for a step that is to be looked at, or that another thread makes */
    PyObject *on_creating; /* (site) for each pass that makes nodes and is not looked at, or NULL */
    PyObject *accumulate_grad;
    Py_ssize_t sites;
    struct {
        uint64_t number;
        int64_t left; /* how many more passes of that site need no look */
    } site[SITES];
    uint64_t marks[MARKS];
    uint64_t notes[NOTES];
    uint64_t times[TIMES]; /* when each of the first marks was written, in nanoseconds */
} Tape;

/* Calls a function of ours from inside the program: whoever traces or profiles the program does not see it. */
PyObject *call_ours(PyObject *function, PyObject *const *args, size_t count);

int tape_make_room(Tape *self);
int tape_is_here(Tape *self);
uint64_t tape_now(void);
extern PyTypeObject *tape_type;

/* Write down a statement's number beside the node counter; the buffer has room for it. */
static inline int tape_write(Tape *self, uint64_t number, uint64_t counter) {
    uint64_t mark = number << SHIFT | counter;
    self->last = mark;
    self->moment++;
    self->marks[self->marked++] = mark;
    if (self->timed < TIMES)
        self->times[self->timed++] = tape_now();
    return self->marked < MARKS ? 0 : tape_make_room(self);
}

/* The number of the next node. */
static inline uint64_t tape_next_node(Tape *self) { return self->counter() + self->shift; }

int fill_marks(PyObject *module); /* adds what _marks.c has */
int fill_apart(PyObject *module); /* and _apart.c */
int fill_locals(PyObject *module); /* and _locals.c */
int fill_graph(PyObject *module);  /* and _graph.c */
int fill_exchange(PyObject *module); /* and _exchange.c */
int fill_lines(PyObject *module); /* and _lines.c */

#endif

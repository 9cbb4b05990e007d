/* Marks for a program that was not compiled with them: what `sys.monitoring` tells, answered in C.

   The interpreter asks for each line, call and return of the program's own code. As soon as a mark was met often without
   a node (`_marks.c`), the answer is DISABLE: that place is not told of any more, and costs nothing. Once a node has been
   made, the events of the pieces of code in which something rests are set again, and no other's. */

#include "_marks.h"

#if PY_VERSION_HEX >= 0x030C0000

enum { ENTERED, LEFT, RESUMED, SUSPENDED, WAYS };

typedef struct {
    PyObject_HEAD
    PyObject *board, *disable;
    PyObject *knows;   /* (code) -> is it of the program's own? */
    PyObject *line_of; /* (code, line) -> its mark, or None */
    PyObject *way_of;  /* (code, which) -> the mark of a way into a function or out of it */
    PyObject *set, *tool, *events, *none; /* sets the events of one piece of code: (tool, code, events) */
    PyObject *resting; /* the pieces of code in which events rest */
    uint64_t serial;
} Lines;

typedef struct {
    uint64_t serial; /* of the lines that know it */
    int watched, rests;
    PyObject *marks; /* by line */
    PyObject *way[WAYS];
} Known;

static PyTypeObject *lines_type;
static Py_ssize_t extra = -1;
static uint64_t serials;

static void drop(Known *known) {
    Py_CLEAR(known->marks);
    for (int n = 0; n < WAYS; n++)
        Py_CLEAR(known->way[n]);
}

static void forget(void *found) {
    if (found == NULL)
        return;
    drop(found);
    PyMem_Free(found);
}

/* What is known of a piece of code; NULL with an error that is the program's own, or without one. */
static Known *known_of(Lines *self, PyObject *code) {
    void *found = NULL;
    if (extra < 0 || self->knows == NULL || _PyCode_GetExtra(code, extra, &found) < 0)
        return NULL;
    Known *known = found;
    if (known != NULL && known->serial == self->serial)
        return known;
    if (known == NULL) {
        known = PyMem_Calloc(1, sizeof(Known));
        if (known == NULL || _PyCode_SetExtra(code, extra, known) < 0) {
            PyMem_Free(known);
            PyErr_Clear();
            return NULL;
        }
    }
    drop(known);
    known->serial = self->serial, known->rests = known->watched = 0;
    PyObject *answer = call_ours(self->knows, &code, 1);
    if (answer == NULL)
        return NULL;
    known->watched = answer == Py_True;
    known->marks = known->watched ? PyDict_New() : NULL;
    Py_DECREF(answer);
    if (known->watched && known->marks == NULL)
        PyErr_Clear(), known->watched = 0;
    return known;
}

static PyObject *mark_by(PyObject *function, PyObject *code, PyObject *what) {
    PyObject *args[2] = {code, what};
    return function != NULL ? call_ours(function, args, 2) : Py_NewRef(Py_None); /* NULL: the watch is over */
}

/* Meet the mark of an event, and say whether it is to be told of again. */
static PyObject *met(Lines *self, PyObject *code, Known *known, PyObject *mark) {
    if (Py_TYPE(mark) != mark_type)
        return Py_NewRef(self->disable); /* there is nothing to be said of it */
    Py_INCREF(mark);
    int rests = meet_line(mark);
    Py_DECREF(mark);
    if (rests < 0)
        return NULL;
    if (!rests)
        Py_RETURN_NONE;
    if (!known->rests) {
        if (PyList_Append(self->resting, code) < 0) {
            PyErr_Clear();
            Py_RETURN_NONE;
        }
        known->rests = 1;
    }
    return Py_NewRef(self->disable);
}

static PyObject *met_line(Lines *self, PyObject *code, Known *known, PyObject *line) {
    PyObject *mark = PyDict_GetItemWithError(known->marks, line);
    if (mark == NULL) {
        PyObject *made = mark_by(self->line_of, code, line);
        if (made == NULL)
            return NULL;
        int kept = PyDict_SetItem(known->marks, line, made);
        mark = made;
        Py_DECREF(made);
        if (kept < 0) {
            PyErr_Clear();
            Py_RETURN_NONE;
        }
    }
    return met(self, code, known, mark);
}

static PyObject *met_way(Lines *self, PyObject *code, Known *known, int which) {
    if (known->way[which] == NULL) {
        PyObject *number = PyLong_FromLong(which);
        known->way[which] = number != NULL ? mark_by(self->way_of, code, number) : NULL;
        Py_XDECREF(number);
        if (known->way[which] == NULL)
            return NULL;
    }
    return met(self, code, known, known->way[which]);
}

#define EVENT(count_wanted)                                                                                            \
    if (count < (count_wanted) || !PyCode_Check(args[0]))                                                              \
        Py_RETURN_NONE;                                                                                                \
    Known *known = known_of(self, args[0]);                                                                            \
    if (known == NULL && PyErr_Occurred())                                                                             \
        return NULL;                                                                                                   \
    if (known == NULL || !known->watched)                                                                              \
        return Py_NewRef(self->disable);

static PyObject *lines_line(Lines *self, PyObject *const *args, Py_ssize_t count) {
    EVENT(2)
    return met_line(self, args[0], known, args[1]);
}

static PyObject *lines_entered(Lines *self, PyObject *const *args, Py_ssize_t count) {
    EVENT(1)
    return met_way(self, args[0], known, ENTERED);
}

static PyObject *lines_resumed(Lines *self, PyObject *const *args, Py_ssize_t count) {
    EVENT(1)
    return met_way(self, args[0], known, RESUMED);
}

static PyObject *lines_left(Lines *self, PyObject *const *args, Py_ssize_t count) {
    EVENT(1)
    return met_way(self, args[0], known, LEFT);
}

static PyObject *lines_suspended(Lines *self, PyObject *const *args, Py_ssize_t count) {
    EVENT(1)
    return met_way(self, args[0], known, SUSPENDED);
}

/* An exception leaves a function: this is told of everywhere, always. While lines rest, the next mark tells of it. */
static PyObject *lines_unwound(Lines *self, PyObject *const *args, Py_ssize_t count) {
    void *found = NULL;
    if (count < 1 || !PyCode_Check(args[0]) || _PyCode_GetExtra(args[0], extra, &found) < 0)
        Py_RETURN_NONE;
    Known *known = found;
    if (known == NULL || known->serial != self->serial || !known->watched || board_is_unsure(self->board))
        Py_RETURN_NONE;
    PyObject *done = met_way(self, args[0], known, LEFT);
    if (done == NULL)
        return NULL;
    Py_DECREF(done);
    Py_RETURN_NONE;
}

/* Back to the line that it came from: another iteration of a loop on one line, which is no new line. */
static PyObject *lines_jumped(Lines *self, PyObject *const *args, Py_ssize_t count) {
    EVENT(3)
    long from = PyLong_AsLong(args[1]), to = PyLong_AsLong(args[2]);
    int line = to < from ? PyCode_Addr2Line((PyCodeObject *)args[0], (int)from) : -1;
    if (line < 0 || line != PyCode_Addr2Line((PyCodeObject *)args[0], (int)to))
        return Py_NewRef(self->disable);
    PyObject *number = PyLong_FromLong(line);
    PyObject *done = number != NULL ? met_line(self, args[0], known, number) : NULL;
    Py_XDECREF(number);
    return done;
}

/* A piece of code runs for the first time since the watch began: from here on its own events are told of. */
static PyObject *first_met(Lines *self, PyObject *const *args, Py_ssize_t count, int which) {
    void *found = NULL;
    if (count < 1 || !PyCode_Check(args[0]) || extra < 0 || _PyCode_GetExtra(args[0], extra, &found) < 0 ||
        (found != NULL && ((Known *)found)->serial == self->serial))
        return Py_NewRef(self->disable);
    EVENT(1)
    PyObject *done = met_way(self, args[0], known, which);
    if (done == NULL)
        return NULL;
    Py_DECREF(done);
    return Py_NewRef(self->disable);
}

static PyObject *lines_first_entered(Lines *self, PyObject *const *args, Py_ssize_t count) {
    return first_met(self, args, count, ENTERED);
}

static PyObject *lines_first_resumed(Lines *self, PyObject *const *args, Py_ssize_t count) {
    return first_met(self, args, count, RESUMED);
}

/* A node has been made: set the events of all code in which some rest. */
static void again(void *whose) {
    Lines *self = whose;
    PyObject *resting = self->resting;
    self->resting = PyList_New(0);
    if (self->resting == NULL) {
        PyErr_Clear();
        self->resting = resting;
        return;
    }
    PyObject *error = PyErr_GetRaisedException();
    for (Py_ssize_t n = 0; n < PyList_GET_SIZE(resting); n++) {
        PyObject *code = PyList_GET_ITEM(resting, n);
        void *found = NULL;
        if (_PyCode_GetExtra(code, extra, &found) == 0 && found != NULL)
            ((Known *)found)->rests = 0;
        for (int on = 0; on < 2 && self->set != NULL; on++) { /* what rests is only set again if it was taken away */
            PyObject *done = PyObject_CallFunctionObjArgs(self->set, self->tool, code, on ? self->events : self->none, NULL);
            Py_XDECREF(done);
            PyErr_Clear();
        }
    }
    PyErr_SetRaisedException(error);
    Py_DECREF(resting);
}

static PyObject *lines_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *board, *disable, *knows, *line_of, *way_of, *set, *tool, *events;
    if (!PyArg_ParseTuple(args, "O!OOOOOOO", board_type, &board, &disable, &knows, &line_of, &way_of, &set, &tool, &events))
        return NULL;
    Lines *self = (Lines *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL)
        return NULL;
    self->board = Py_NewRef(board), self->disable = Py_NewRef(disable), self->knows = Py_NewRef(knows);
    self->line_of = Py_NewRef(line_of), self->way_of = Py_NewRef(way_of);
    self->set = Py_NewRef(set), self->tool = Py_NewRef(tool), self->events = Py_NewRef(events);
    self->serial = ++serials;
    self->none = PyLong_FromLong(0);
    self->resting = PyList_New(0);
    if (self->none == NULL || self->resting == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    *board_lines(board) = (OfLines){again, self};
    return (PyObject *)self;
}

static int lines_traverse(Lines *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->board);
    Py_VISIT(self->knows);
    Py_VISIT(self->line_of);
    Py_VISIT(self->way_of);
    Py_VISIT(self->set);
    Py_VISIT(self->resting);
    return 0;
}

static int lines_clear(Lines *self) {
    if (self->board != NULL && board_lines(self->board)->lines == self)
        *board_lines(self->board) = (OfLines){NULL, NULL};
    Py_CLEAR(self->board);
    Py_CLEAR(self->knows);
    Py_CLEAR(self->line_of);
    Py_CLEAR(self->way_of);
    Py_CLEAR(self->set);
    Py_CLEAR(self->resting);
    return 0;
}

static void lines_dealloc(Lines *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    lines_clear(self);
    Py_CLEAR(self->disable);
    Py_CLEAR(self->tool);
    Py_CLEAR(self->events);
    Py_CLEAR(self->none);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

#define METHOD(name, what)                                                                                             \
    { #name, (PyCFunction)(void (*)(void))lines_##name, METH_FASTCALL, what }

/* A piece of code that runs already. */
static PyObject *lines_known(Lines *self, PyObject *code) {
    if (PyCode_Check(code) && known_of(self, code) == NULL && PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

/* The watch is over: nothing is known any more, and no events are set. */
static PyObject *lines_close(Lines *self, PyObject *none) {
    self->serial = 0;
    lines_clear(self);
    Py_RETURN_NONE;
}

static PyMethodDef lines_methods[] = {
    {"known", (PyCFunction)lines_known, METH_O, "A piece of code that runs already."},
    {"close", (PyCFunction)lines_close, METH_NOARGS, "The watch is over."},
    METHOD(line, "A line begins."),
    METHOD(entered, "A function is called."),
    METHOD(resumed, "A generator goes on."),
    METHOD(left, "A function returns."),
    METHOD(suspended, "A generator yields."),
    METHOD(unwound, "An exception leaves a function."),
    METHOD(jumped, "The interpreter goes elsewhere."),
    METHOD(first_entered, "A function is called; told once of each."),
    METHOD(first_resumed, "A generator goes on; told once of each."),
    {NULL, NULL, 0, NULL},
};

static PyType_Slot lines_slots[] = {
    {Py_tp_doc, "Answers what sys.monitoring tells."},
    {Py_tp_new, lines_new},
    {Py_tp_dealloc, lines_dealloc},
    {Py_tp_traverse, lines_traverse},
    {Py_tp_clear, lines_clear},
    {Py_tp_methods, lines_methods},
    {0, NULL},
};

static PyType_Spec lines_spec = {
    "afterward.observe.marks._tape.Lines", sizeof(Lines), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, lines_slots,
};

int fill_lines(PyObject *module) {
    lines_type = (PyTypeObject *)PyType_FromSpec(&lines_spec);
    if (lines_type == NULL)
        return -1;
    if (extra < 0)
        extra = _PyEval_RequestCodeExtraIndex(forget);
    return PyModule_AddObjectRef(module, "Lines", (PyObject *)lines_type);
}

#else

int fill_lines(PyObject *module) { return 0; }

#endif

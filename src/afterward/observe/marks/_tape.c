/* The tape in C: what is written down once per statement, pass and optimizer step.

   It does what `PythonTape` in tape.py does, which stands in for it where afterward was installed without a compiler.
   A mark must cost next to nothing beside one small operation of torch, so it makes no Python object and looks
   nothing up: it writes one number into a buffer, which `drain_marks` empties. It is built for one version of Python,
   not with the stable ABI, where reading a number is a call: beside torch the code of each call is cold. */

#include "_tape.h"

#define Py_BUILD_CORE
#undef _PyGC_FINALIZED /* in 3.12 a function of this name follows */
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#undef Py_BUILD_CORE

PyTypeObject *tape_type;

#define ROOM 250 /* calls that ours may go deeper than the program is allowed to */

static void make_calls_possible(PyThreadState *thread, int calls) {
#if PY_VERSION_HEX >= 0x030C0000
    thread->py_recursion_remaining += calls;
#elif PY_VERSION_HEX >= 0x030B0000
    thread->recursion_remaining += calls;
#else
    thread->recursion_depth -= calls;
#endif
}

/* Handlers of signals run in the main thread alone. While a function of ours runs, Python takes no thread for it: so
   none strikes between two statements that belong together, and what it raises is raised in the program. */
static unsigned long hold_signals(void) {
    unsigned long here = PyThread_get_thread_ident();
    if (_PyRuntime.main_thread != here)
        return 0;
    _PyRuntime.main_thread = 0;
    return here;
}

static int release_signals(unsigned long held) {
    if (!held)
        return 0;
    _PyRuntime.main_thread = held;
    return PyErr_Occurred() ? 0 : PyErr_CheckSignals();
}

/* While a function of ours runs, nothing of the program's is collected: a `__del__` would run inside of a look. What ours
   has made does not bring the next collection nearer. Several threads may be in functions of ours. */
static int resting, collects, made;

static void rest_collector(PyThreadState *thread) {
    if (resting++ == 0) {
        made = thread->interp->gc.generations[0].count;
        collects = PyGC_Disable();
    }
}

static void wake_collector(PyThreadState *thread) {
    if (resting > 0 && --resting == 0) {
        thread->interp->gc.generations[0].count = made;
        if (collects)
            PyGC_Enable();
    }
}

/* A process has been forked: the threads that were in functions of ours are not in it. */
static PyObject *forked(PyObject *module, PyObject *unused) {
    if (resting > 0 && collects)
        PyGC_Enable();
    resting = 0;
    Py_RETURN_NONE;
}

static PyObject *call_ours_with(PyObject *function, PyObject *const *args, size_t count, PyObject *kwargs) {
    PyThreadState *thread = PyThreadState_Get();
    make_calls_possible(thread, ROOM);
    rest_collector(thread);
    unsigned long held = hold_signals();
#if PY_VERSION_HEX >= 0x030B0000
    PyThreadState_EnterTracing(thread);
    PyObject *done = PyObject_VectorcallDict(function, args, count, kwargs);
    PyThreadState_LeaveTracing(thread);
#else
    int used = thread->cframe->use_tracing;
    thread->tracing++;
    thread->cframe->use_tracing = 0;
    PyObject *done = PyObject_VectorcallDict(function, args, count, kwargs);
    thread->tracing--;
    thread->cframe->use_tracing = used;
#endif
    wake_collector(thread);
    make_calls_possible(thread, -ROOM);
    if (release_signals(held) < 0) {
        Py_XDECREF(done);
        return NULL;
    }
    if (done == NULL || !PyExceptionInstance_Check(done))
        return done;
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(done)), done, PyException_GetTraceback(done));
    return NULL;
}

PyObject *call_ours(PyObject *function, PyObject *const *args, size_t count) {
    return call_ours_with(function, args, count, NULL);
}

/* A hook is called by the program. It is no function of C's, whose calls a profiler is told of. */

typedef struct {
    PyObject_HEAD
    PyObject *function;
} HookObject;

static PyTypeObject *hook_type;

static PyObject *hook_call(HookObject *self, PyObject *args, PyObject *kwargs) {
    size_t count = (size_t)PyTuple_GET_SIZE(args);
    PyObject *const *values = &PyTuple_GET_ITEM(args, 0);
    if (PyCFunction_Check(self->function)) /* of the tape's, which calls what is in Python by itself */
        return PyObject_Vectorcall(self->function, values, count, NULL);
    return call_ours_with(self->function, values, count, kwargs);
}

static int hook_traverse(HookObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->function);
    return 0;
}

static void hook_dealloc(HookObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->function);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyType_Slot hook_slots[] = {
    {Py_tp_call, hook_call}, {Py_tp_traverse, hook_traverse}, {Py_tp_dealloc, hook_dealloc}, {0, NULL},
};

static PyType_Spec hook_spec = {
    "afterward.observe.marks._tape.Hook", sizeof(HookObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, hook_slots,
};

static PyObject *as_method(PyObject *module, PyObject *function) { return PyInstanceMethod_New(function); }

static PyObject *unnoticed(PyObject *module, PyObject *function) {
    HookObject *hook = PyObject_GC_New(HookObject, hook_type);
    if (hook == NULL)
        return NULL;
    hook->function = Py_NewRef(function);
    PyObject_GC_Track(hook);
    return (PyObject *)hook;
}

int tape_make_room(Tape *self) {
    PyObject *done = call_ours(self->on_full, NULL, 0);
    Py_XDECREF(done);
    if (done == NULL)
        return -1;
    /* Whoever was called has emptied both buffers; if not, nothing is overwritten, only forgotten. */
    if (self->marked >= MARKS)
        self->marked = 0;
    if (self->noted > NOTES - 3)
        self->noted = 0;
    return 0;
}

/* The tape of this thread: to ask the thread for its name takes two calls, into pages that are cold beside torch. */
#if defined(__linux__) && defined(__GNUC__)
static __thread Tape *mine __attribute__((tls_model("initial-exec")));
#define IS_MINE(self) (mine == (self))
#define BECOMES_MINE(self) (mine = (self))
#else
#define IS_MINE(self) 0
#define BECOMES_MINE(self)
#endif

int tape_is_here(Tape *self) { return IS_MINE(self) || PyThread_get_thread_ident() == self->thread; }

uint64_t tape_now(void) {
    struct timespec at;
    timespec_get(&at, TIME_UTC);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

/* The number of a statement: small, as a rule, and then it lies in the object itself. */
static long number_of(PyObject *number) {
    if (PyLong_CheckExact(number)) {
#if PY_VERSION_HEX >= 0x030C0000
        if (PyUnstable_Long_IsCompact((PyLongObject *)number))
            return (long)PyUnstable_Long_CompactValue((PyLongObject *)number);
#else
        if (Py_SIZE(number) == 1)
            return (long)((PyLongObject *)number)->ob_digit[0];
#endif
    }
    return PyLong_AsLong(number);
}

static int write_mark(Tape *self, PyObject *number) {
    if (!tape_is_here(self)) {
        PyObject *done = call_ours(self->on_other, &number, 1);
        Py_XDECREF(done);
        return done == NULL ? -1 : 0;
    }
    long statement = number_of(number);
    if (statement < 0)
        return PyErr_Occurred() ? -1 : 0;
    return tape_write(self, (uint64_t)statement, tape_next_node(self));
}

static int write_note(Tape *self, uint64_t flags, PyObject *what) {
    uint64_t *note = self->notes + self->noted;
    note[0] = self->moment | flags;
    note[1] = tape_next_node(self);
    note[2] = (uint64_t)(uintptr_t)what;
    self->noted += 3;
    return self->noted <= NOTES - 3 ? 0 : tape_make_room(self);
}

static PyObject *tape_mark(Tape *self, PyObject *number) {
    if (write_mark(self, number) < 0)
        return NULL;
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject *tape_leave(Tape *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "leave takes a number and a value");
        return NULL;
    }
    if (write_mark(self, args[0]) < 0)
        return NULL;
    Py_INCREF(args[1]);
    return args[1];
}

static Py_ssize_t find_site(Tape *self, uint64_t site) {
    for (Py_ssize_t place = 0; place < self->sites; place++)
        if (self->site[place].number == site)
            return place;
    return -1;
}

/* What a pass asks for, as flags of its note; -1 where that needs a closer look. */
static int64_t asked_for(Tape *self, PyObject *outputs, PyObject *args, PyObject *kwargs) {
    if (!PyTuple_Check(outputs) || PyTuple_GET_SIZE(outputs) != 1 || !PyTuple_Check(args) || PyTuple_GET_SIZE(args) < 3)
        return -1;
    if (!PyDict_Check(kwargs))
        return -1;
    PyObject *retains = PyTuple_GET_ITEM(args, 1), *creates = PyTuple_GET_ITEM(args, 2);
    PyObject *accumulates = PyDict_GetItemWithError(kwargs, self->accumulate_grad);
    if (accumulates == NULL && PyErr_Occurred()) {
        PyErr_Clear();
        return -1;
    }
    int64_t flags = 0;
    if (retains == Py_True)
        flags |= RETAINS;
    else if (retains != Py_False)
        return -1;
    if (creates == Py_True)
        flags |= CREATES;
    else if (creates != Py_False)
        return -1;
    if (accumulates == Py_False)
        flags |= GRAD;
    else if (accumulates != NULL && accumulates != Py_True)
        return -1;
    return flags;
}

static PyObject *tape_begins(Tape *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "begins takes outputs, args and kwargs");
        return NULL;
    }
    Py_ssize_t place = -1;
    if (tape_is_here(self)) {
        self->begun = tape_next_node(self);
        place = find_site(self, self->last >> SHIFT);
    }
    if (place >= 0 && self->site[place].left > 0) {
        int64_t flags = asked_for(self, args[0], args[1], args[2]);
        if (flags >= 0) {
            self->site[place].left--;
            self->skipped = 1;
            if (write_note(self, (uint64_t)flags, PyTuple_GET_ITEM(args[0], 0)) < 0)
                return NULL;
            if (flags & CREATES && self->on_creating != NULL && self->on_creating != Py_None) {
                PyObject *number = PyLong_FromUnsignedLongLong(self->site[place].number);
                PyObject *done = number != NULL ? call_ours(self->on_creating, &number, 1) : NULL;
                Py_XDECREF(number);
                return done;
            }
            Py_INCREF(Py_None);
            return Py_None;
        }
    }
    return call_ours(self->on_pass, args, 3);
}

static PyObject *tape_stepped(Tape *self, PyObject *const *args, Py_ssize_t count) {
    if (count < 1) {
        PyErr_SetString(PyExc_TypeError, "stepped takes an optimizer");
        return NULL;
    }
    int main_thread = tape_is_here(self);
    if (main_thread && write_note(self, STEP, args[0]) < 0)
        return NULL;
    if (!main_thread || self->steps_due)
        return call_ours(self->on_step, args, 1);
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject *tape_put(Tape *self, PyObject *args) {
    unsigned long long number, counter;
    if (!PyArg_ParseTuple(args, "KK", &number, &counter) || tape_write(self, number, counter) < 0)
        return NULL;
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject *tape_left(Tape *self, PyObject *number) {
    uint64_t site = PyLong_AsUnsignedLongLong(number);
    if (site == (uint64_t)-1 && PyErr_Occurred())
        return NULL;
    Py_ssize_t place = find_site(self, site);
    return PyLong_FromLongLong(place < 0 ? 0 : self->site[place].left);
}

static PyObject *tape_rest(Tape *self, PyObject *args) {
    unsigned long long site;
    long long left;
    if (!PyArg_ParseTuple(args, "KL", &site, &left))
        return NULL;
    Py_ssize_t place = find_site(self, site);
    if (place < 0 && self->sites < SITES) {
        place = self->sites++;
        self->site[place].number = site;
    }
    if (place >= 0)
        self->site[place].left = left;
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject *drained(uint64_t *buffer, Py_ssize_t *used) {
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)buffer, *used * (Py_ssize_t)sizeof(uint64_t));
    if (bytes != NULL)
        *used = 0;
    return bytes;
}

static PyObject *tape_drain_marks(Tape *self, PyObject *none) { return drained(self->marks, &self->marked); }

static PyObject *tape_drain_notes(Tape *self, PyObject *none) { return drained(self->notes, &self->noted); }

static PyObject *tape_times(Tape *self, PyObject *none) {
    return PyBytes_FromStringAndSize((const char *)self->times, self->timed * (Py_ssize_t)sizeof(uint64_t));
}

/* Until torch is there, no node is made. */
static uint64_t no_counter(void) { return 0; }

static PyObject *tape_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    unsigned long long address, moment, thread;
    PyObject *on_full, *on_other, *on_pass, *on_step;
    if (!PyArg_ParseTuple(args, "KOOOOKK", &address, &on_full, &on_other, &on_pass, &on_step, &moment, &thread))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Tape *self = (Tape *)allocate(type, 0);
    if (self == NULL)
        return NULL;
    self->counter = address ? (Counter)(uintptr_t)address : no_counter;
    self->thread = (unsigned long)thread;
    self->moment = moment;
    if (PyThread_get_thread_ident() == self->thread)
        BECOMES_MINE(self);
    Py_INCREF(on_full), self->on_full = on_full;
    Py_INCREF(on_other), self->on_other = on_other;
    Py_INCREF(on_pass), self->on_pass = on_pass;
    Py_INCREF(on_step), self->on_step = on_step;
    self->accumulate_grad = PyUnicode_InternFromString("accumulate_grad");
    return (PyObject *)self;
}

static int tape_traverse(Tape *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->on_full);
    Py_VISIT(self->on_other);
    Py_VISIT(self->on_pass);
    Py_VISIT(self->on_step);
    Py_VISIT(self->on_creating);
    return 0;
}

static void tape_dealloc(Tape *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (IS_MINE(self))
        BECOMES_MINE(NULL);
    Py_CLEAR(self->on_full);
    Py_CLEAR(self->on_other);
    Py_CLEAR(self->on_pass);
    Py_CLEAR(self->on_step);
    Py_CLEAR(self->on_creating);
    Py_CLEAR(self->accumulate_grad);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* Does the same statement begin at both marks, and does it make a node in both places, or in neither? */
static int alike(const uint64_t *one, const uint64_t *other) {
    const uint64_t counter = (UINT64_C(1) << SHIFT) - 1;
    int made = (one[0] & counter) < (one[1] & counter), made_there = (other[0] & counter) < (other[1] & counter);
    return one[0] >> SHIFT == other[0] >> SHIFT && made == made_there;
}

static PyObject *repeats(PyObject *module, PyObject *args) {
    Py_buffer marks;
    Py_ssize_t start, length, most;
    if (!PyArg_ParseTuple(args, "y*nnn", &marks, &start, &length, &most))
        return NULL;
    const uint64_t *mark = marks.buf;
    Py_ssize_t iterations = 0, count = marks.len / (Py_ssize_t)sizeof(uint64_t) - 1;
    if (length > 0 && start >= length && start < count) {
        most = most < (count - start) / length ? most : (count - start) / length;
        Py_ssize_t place = start, end = start + most * length;
        while (place < end && alike(mark + place, mark + place - length))
            place++;
        iterations = (place - start) / length;
    }
    PyBuffer_Release(&marks);
    return PyLong_FromSsize_t(iterations);
}

static PyMethodDef functions[] = {
    {"unnoticed", unnoticed, METH_O, "A hook that no tracer sees; an exception that it hands back is raised."},
    {"as_method", as_method, METH_O, "A function that binds to an object as a method does."},
    {"forked", forked, METH_NOARGS, "A process has been forked, and this is the child."},
    {"repeats", repeats, METH_VARARGS, "How often the last marks before a place are there again from there on."},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef methods[] = {
    {"mark", (PyCFunction)tape_mark, METH_O, "A statement begins: write down its number and the node counter."},
    {"leave", (PyCFunction)(void (*)(void))tape_leave, METH_FASTCALL, "A mark that hands on a value."},
    {"begins", (PyCFunction)(void (*)(void))tape_begins, METH_FASTCALL, "A backward pass begins."},
    {"stepped", (PyCFunction)(void (*)(void))tape_stepped, METH_FASTCALL, "An optimizer has stepped."},
    {"put", (PyCFunction)tape_put, METH_VARARGS, "A mark by a thread that works for this one, beside the node's number."},
    {"left", (PyCFunction)tape_left, METH_O, "How many more passes of a site need no look."},
    {"rest", (PyCFunction)tape_rest, METH_VARARGS, "Let so many passes of a site go by without a look."},
    {"drain_marks", (PyCFunction)tape_drain_marks, METH_NOARGS, "The marks since the last time, as bytes."},
    {"drain_notes", (PyCFunction)tape_drain_notes, METH_NOARGS, "The notes since the last time, as bytes."},
    {"times", (PyCFunction)tape_times, METH_NOARGS, "When each of the first marks was written, as bytes."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"skipped", T_INT, offsetof(Tape, skipped), 0, "Has a pass gone by without a look?"},
    {"steps_due", T_INT, offsetof(Tape, steps_due), 0, "Optimizer steps still to be looked at."},
    {"shift", T_ULONGLONG, offsetof(Tape, shift), 0, "Numbers left for nodes that other threads made."},
    {"begun", T_ULONGLONG, offsetof(Tape, begun), READONLY, "The number of the next node, as the last pass began."},
    {"on_creating", T_OBJECT, offsetof(Tape, on_creating), 0, "Whom a pass is told that makes nodes and is not looked at."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "What is written down while a program runs."},
    {Py_tp_new, tape_new},
    {Py_tp_dealloc, tape_dealloc},
    {Py_tp_traverse, tape_traverse},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Spec spec = {
    "afterward.observe.marks._tape.Tape", sizeof(Tape), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots,
};

static int fill_module(PyObject *module) {
    PyObject *type = PyType_FromSpec(&spec);
    if (type == NULL)
        return -1;
    tape_type = (PyTypeObject *)type;
    hook_type = (PyTypeObject *)PyType_FromSpec(&hook_spec);
    if (hook_type == NULL)
        return -1;
    Py_INCREF(type);
    if (PyModule_AddObject(module, "Tape", type) < 0)
        return -1;
    int (*fill[])(PyObject *) = {fill_marks, fill_apart, fill_lines, fill_locals, fill_graph, fill_exchange};
    for (size_t n = 0; n < sizeof(fill) / sizeof(*fill); n++)
        if (fill[n](module) < 0)
            return -1;
    return 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, fill_module}, {0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_tape", "The recorder's tape, in C.", 0, functions, module_slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__tape(void) { return PyModuleDef_Init(&module); }

/* Marks in the program's own code: `-MARK` before a statement, where MARK is a constant of the code itself.

   So a mark looks up no name, and costs next to nothing beside an operation of torch. In plain Python code it would
   still cost as much as the statement it stands before. Therefore a mark that was met a few times since the last node
   was made, in code that runs fast, is switched off in place: its first instruction becomes a jump over it. All are
   switched on again as soon as a node has been made. While any is off, those that are on first tell which calls are
   running and where (`tell_calls`), read from the interpreter: so what they write down stays exact. */

#include "_frames.h"
#include "_marks.h"

#define OFTEN 6          /* a mark stays on until it was met so often since the last node */
#define WINDOW 64        /* marks, over which their pace is measured */
#define PACE 2000        /* nanoseconds from mark to mark: a slower pace costs nothing that one would notice */
#define PLACES 4         /* in one piece of code that a mark may stand: a `finally` is compiled more than once */
#define DEPTH 64         /* calls that are told apart by `tell_calls` */

#define ENTERS 1 /* flags of a mark: the first of a call, or of a generator that goes on */
#define TURNS 2  /* a loop's next iteration */
#define LINE 4   /* it stands for a line that the interpreter tells of: its events rest, its code stays as it is */
#define TELLS 8  /* of a line: it is more than that a statement begins, and is written down each time */

typedef struct Mark Mark;

typedef struct {
    Running *frame;
    PyObject *code;
    Py_ssize_t unit;
} Told;

typedef struct {
    PyObject_HEAD
    Tape *tape;          /* where it is written down, if anywhere */
    PyObject *call;      /* (number) where there is no tape in C */
    PyObject *locate;    /* (code, unit) -> the number that tells of a call at this instruction, or -1 */
    PyObject *keeps;     /* (calls) -> the number that tells that so many calls are as before */
    Mark *off;           /* those that are switched off */
    OfLines of_lines;
    int lines_rest;      /* do events of any line rest? */
    uint32_t stretch;    /* how often the node counter was seen to have moved */
    int unsure;          /* marks were off: the calls that run may be others than those written down */
    int fast;            /* are there many marks a second? */
    uint64_t met, window_met, window_time;
    Py_ssize_t depth; /* of what was told last: */
    Told told[DEPTH];
} Board;

struct Mark {
    PyObject_HEAD
    Board *board;
    long number;
    int flags;
    uint32_t stretch, hits;
    uint32_t rests; /* the stretch since which its events rest */
    uint64_t since;
    int ordinal; /* which of its file's pieces of code it is in */
    int places;
    PyObject *code; /* borrowed: it holds this mark, and `forget` says when it goes */
    struct {
        Py_ssize_t unit;
        unsigned char skip, kept[2], follows_load;
    } place[PLACES];
    Mark *next, **link; /* among those that are off; `link` is NULL where it is on */
};

typedef struct {
    Board *board;
    PyObject *code;   /* borrowed */
    int is_call;      /* is it a function's or a module's code, not that of a class? */
    int32_t number[]; /* of the statement at each unit: 0 where it was not asked for yet, else one more */
} About;

PyTypeObject *mark_type, *board_type;
static Py_ssize_t extra = -1; /* the slot of code objects that is ours */
static struct {
    unsigned char extended, load_const, negative, pop_top, build_tuple, subscript, jump, load_fast, load_both;
    unsigned char jump_if_true_or_pop, copy, to_bool, pop_jump_if_true, extended_quick;
} op;

#if defined(__linux__) && defined(__GNUC__)
static __thread uint64_t seen __attribute__((tls_model("initial-exec"))); /* this thread's counter, at its last mark */
#else
static uint64_t seen;
#endif

/* Switching on and off */

static About *about(PyObject *code) {
    void *found = NULL;
    if (extra < 0 || _PyCode_GetExtra(code, extra, &found) < 0)
        return NULL;
    return found;
}

static void unlink_mark(Mark *self) {
    *self->link = self->next;
    if (self->next != NULL)
        self->next->link = self->link;
    self->link = NULL;
}

/* The code goes: nothing may be switched on in it any more. A copy of it may have the same marks, and live on. */
static void forget(void *found) {
    About *info = found;
    if (info == NULL)
        return; /* this is asked of all code that someone has put something in its extra slots, as the compiler does */
    PyObject *consts = ((PyCodeObject *)info->code)->co_consts;
    for (Py_ssize_t n = 0; consts != NULL && n < PyTuple_GET_SIZE(consts); n++) {
        Mark *mark = (Mark *)PyTuple_GET_ITEM(consts, n);
        if (Py_TYPE(mark) != mark_type || mark->code != info->code)
            continue;
        if (mark->link != NULL)
            unlink_mark(mark);
        mark->code = NULL, mark->places = 0;
    }
    PyMem_Free(info);
}

static void switch_on(Mark *self) {
    unsigned char *units = units_of(self->code);
    for (int n = 0; n < self->places; n++) {
        unsigned char *at = units + 2 * self->place[n].unit;
        if (at[0] == op.jump && at[1] == self->place[n].skip)
            at[0] = self->place[n].kept[0], at[1] = self->place[n].kept[1];
    }
    unlink_mark(self);
}

static void switch_all_on(Board *board) {
    while (board->off != NULL)
        switch_on(board->off);
    if (board->lines_rest && board->of_lines.lines != NULL)
        board->of_lines.again(board->of_lines.lines);
    board->lines_rest = 0;
}

/* The calls that are running in a thread, outermost first; -1 where they are too many to be told apart. */
static Py_ssize_t running_calls(PyThreadState *thread, Board *board, Told *told) {
    Py_ssize_t count = 0;
    for (Running *frame = *running_slot(thread); frame != NULL; frame = caller_of(frame)) {
        PyObject *code = code_of(frame);
        About *info = code != NULL && PyCode_Check(code) ? about(code) : NULL;
        if (info == NULL || info->board != board || !info->is_call)
            continue;
        if (count == DEPTH)
            return -1;
        told[count++] = (Told){frame, code, unit_of(frame)};
    }
    for (Py_ssize_t n = 0; n < count / 2; n++) {
        Told other = told[n];
        told[n] = told[count - 1 - n], told[count - 1 - n] = other;
    }
    return count;
}

/* From here on calls may come and go unseen. Those that run now, in the thread of the tape, are as they were written
   down: the one that begins with this mark is not there yet. */
static void becomes_unsure(Mark *self) {
    Board *board = self->board;
    if (board->unsure)
        return;
    PyThreadState *here = PyThreadState_Get(), *thread = here;
    if (!tape_is_here(board->tape))
        for (thread = PyInterpreterState_ThreadHead(here->interp); thread != NULL; thread = PyThreadState_Next(thread))
            if (thread->thread_id == board->tape->thread)
                break;
    Py_ssize_t count = thread != NULL ? running_calls(thread, board, board->told) : 0;
    board->depth = count > 0 && thread == here && self->flags & ENTERS ? count - 1 : count < 0 ? 0 : count;
    board->unsure = 1;
}

static void switch_off(Mark *self) {
    if (self->flags & LINE) {
        becomes_unsure(self);
        self->rests = self->stretch;
        self->board->lines_rest = 1;
        return;
    }
    Running *frame = *running_slot(PyThreadState_Get());
    if (self->link != NULL || frame == NULL || code_of(frame) != self->code || about(self->code) == NULL)
        return; /* this runs in a copy of the code that it was made for, or one that would not say when it goes */
    unsigned char *units = units_of(self->code);
    for (int n = 0; n < self->places; n++) { /* someone else may have changed the code, such as a debugger */
        unsigned char first = units[2 * self->place[n].unit];
        if (first != op.load_const && first != op.extended && (first != op.extended_quick || !op.extended_quick))
            return;
    }
    for (int n = 0; n < self->places; n++) {
        unsigned char *at = units + 2 * self->place[n].unit;
        if (self->place[n].follows_load && op.load_both && at[-2] == op.load_both)
            at[-2] = op.load_fast; /* one instruction that does the work of this one and the one before */
        self->place[n].kept[0] = at[0], self->place[n].kept[1] = at[1];
        at[0] = op.jump, at[1] = self->place[n].skip;
    }
    Board *board = self->board;
    becomes_unsure(self);
    self->next = board->off;
    self->link = &board->off;
    if (self->next != NULL)
        self->next->link = &self->next;
    board->off = self;
}

static void met_often(Mark *self) {
    Board *board = self->board;
    if (self->flags & TURNS) { /* how often a loop was run is worth knowing: only in the tightest it is not counted */
        if (self->hits == OFTEN)
            self->since = tape_now();
        else if ((self->hits - OFTEN) % WINDOW == 0) {
            uint64_t now = tape_now();
            if (now - self->since < WINDOW * PACE)
                switch_off(self);
            self->since = now;
        }
        return;
    }
    if (board->met - board->window_met >= WINDOW) {
        uint64_t now = tape_now();
        board->fast = now - board->window_time < (board->met - board->window_met) * PACE;
        board->window_met = board->met;
        board->window_time = now;
    }
    if (board->fast)
        switch_off(self);
}

/* Which calls are running */

/* Ask a function of ours for the number that stands for something; -1 where there is none, -2 where the program's own
   signal handler has raised meanwhile. */
static long ask(PyObject *function, PyObject *code, Py_ssize_t number) {
    PyObject *args[2] = {code, PyLong_FromSsize_t(number)};
    PyObject *found = args[1] == NULL ? NULL : call_ours(function, args + (code == NULL), code == NULL ? 1 : 2);
    long answer = found != NULL ? PyLong_AsLong(found) : -1;
    Py_XDECREF(found);
    Py_XDECREF(args[1]);
    return PyErr_Occurred() ? -2 : answer;
}

static long number_at(Board *board, About *info, PyObject *code, Py_ssize_t unit) {
    if (unit < 0 || unit >= count_of_units(code))
        return -1;
    if (info->number[unit] == 0) {
        long number = ask(board->locate, code, unit);
        if (number == -2)
            return -2;
        info->number[unit] = number < 0 ? -1 : (int32_t)number + 1;
    }
    return info->number[unit] < 0 ? -1 : info->number[unit] - 1;
}

static long keeps_number(Board *board, Py_ssize_t calls) {
    return ask(board->keeps, NULL, calls);
}

/* Write down which calls are running, from the first that is not as it was told last time. */
static int tell_calls(Mark *mark, uint64_t counter) {
    Board *board = mark->board;
    Told now[DEPTH];
    Py_ssize_t count = running_calls(PyThreadState_Get(), board, now);
    if (count < 0)
        return 0;
    Py_ssize_t first = mark->flags & ENTERS && count > 0 ? 1 : 0; /* that call is told by the mark itself */
    Py_ssize_t depth = count - first, same = 0;
    while (same < depth && same < board->depth && board->told[same].frame == now[same].frame &&
           board->told[same].code == now[same].code && board->told[same].unit == now[same].unit)
        same++;
    int only_last = same + 1 == depth && depth == board->depth && !first &&
                    board->told[same].frame == now[same].frame && board->told[same].code == now[same].code;
    for (Py_ssize_t n = same; n < depth; n++)
        board->told[n] = now[n];
    int changed = same < depth || depth != board->depth;
    board->depth = depth;
    if (!changed || only_last) /* the mark itself tells where the innermost call is */
        return 0;
    long keeps = keeps_number(board, same);
    if (keeps < 0)
        return keeps == -2 ? -1 : 0;
    if (tape_write(board->tape, (uint64_t)keeps, counter) < 0)
        return -1;
    for (Py_ssize_t n = same; n < depth; n++) {
        PyObject *code = board->told[n].code;
        long number = number_at(board, about(code), code, board->told[n].unit);
        if (number == -2)
            return -1;
        if (number < 0)
            break;
        if (tape_write(board->tape, (uint64_t)number, counter) < 0)
            return -1;
    }
    return 0;
}

/* The mark itself */

static int mark_elsewhere(Mark *self, PyObject *call) {
    if (call == NULL || call == Py_None)
        return 0;
    PyObject *number = PyLong_FromLong(self->number);
    PyObject *done = number != NULL ? call_ours(call, &number, 1) : NULL;
    Py_XDECREF(number);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

static int meet(Mark *self) {
    Board *board = self->board;
    Tape *tape = board->tape;
    if (tape == NULL)
        return mark_elsewhere(self, board->call);
    uint64_t counter = tape_next_node(tape);
    board->met++;
    if (counter != seen) {
        seen = counter;
        board->stretch++;
        if (board->off != NULL || board->lines_rest)
            switch_all_on(board);
    }
    if (self->stretch != board->stretch) {
        self->stretch = board->stretch;
        self->hits = 1;
    } else if (++self->hits >= OFTEN && (self->places || self->flags & LINE))
        met_often(self);
    if (!tape_is_here(tape))
        return mark_elsewhere(self, tape->on_other);
    if (board->unsure) {
        board->unsure = board->off != NULL || board->lines_rest;
        if (tell_calls(self, counter) < 0)
            return -1;
        if (!board->unsure)
            board->depth = 0;
    }
    if ((self->flags & (LINE | TELLS)) == LINE && tape->last >> SHIFT == (uint64_t)self->number)
        return 0; /* another line of the same statement */
    return tape_write(tape, (uint64_t)self->number, counter);
}

static PyObject *mark_meets(PyObject *self) { return meet((Mark *)self) < 0 ? NULL : Py_NewRef(Py_None); }

int meet_line(PyObject *mark) {
    Mark *self = (Mark *)mark;
    return meet(self) < 0 ? -1 : self->rests == self->board->stretch;
}

OfLines *board_lines(PyObject *board) { return &((Board *)board)->of_lines; }

int board_is_unsure(PyObject *board) { return ((Board *)board)->unsure; }

/* Which instructions are a mark */

/* How many units follow the first one of a mark; 0 where its shape is not one that we know. */
static int length_of(const unsigned char *units, Py_ssize_t at, Py_ssize_t count, Py_ssize_t load) {
    Py_ssize_t n = load + 2; /* after LOAD_CONST and UNARY_NEGATIVE */
#define IS(what) (n < count && op.what && units[2 * n] == op.what)
#define SKIP_CACHES while (n < count && units[2 * n] == 0) n++
    if (IS(pop_top))
        n++;
    else if (IS(build_tuple)) { /* (value, -MARK)[0] */
        n++;
        while (IS(extended))
            n++;
        if (!IS(load_const))
            return 0;
        n++;
        if (!IS(subscript))
            return 0;
        n++;
        SKIP_CACHES;
    } else if (IS(jump_if_true_or_pop)) /* -MARK or value */
        n++;
    else if (IS(copy)) {
        n++;
        if (IS(to_bool)) {
            n++;
            SKIP_CACHES;
        }
        if (!IS(pop_jump_if_true))
            return 0;
        n++;
        SKIP_CACHES;
        if (!IS(pop_top))
            return 0;
        n++;
    } else
        return 0;
    return n - at - 1 <= 255 ? (int)(n - at - 1) : 0;
}

/* `units` are the instructions as they were compiled: those that run may have been exchanged for quicker ones. */
static void find_places(PyObject *code, PyObject *consts, const unsigned char *units) {
    Py_ssize_t count = count_of_units(code), start = -1;
    uint32_t argument = 0;
    int loads = 0; /* was the instruction before this one LOAD_FAST? */
    for (Py_ssize_t n = 0; n < count; n++) {
        unsigned char what = units[2 * n];
        argument = argument << 8 | units[2 * n + 1];
        if (start < 0)
            start = n;
        if (what == op.extended)
            continue;
        if (what == op.load_const && argument < PyTuple_GET_SIZE(consts)) {
            PyObject *constant = PyTuple_GET_ITEM(consts, argument);
            if (Py_TYPE(constant) == mark_type && n + 1 < count && units[2 * n + 2] == op.negative) {
                Mark *mark = (Mark *)constant;
                int skip = length_of(units, start, count, n);
                if (skip == 0 || mark->places < 0 || mark->places == PLACES)
                    mark->places = -1;
                else {
                    mark->place[mark->places].unit = start;
                    mark->place[mark->places].skip = (unsigned char)skip;
                    mark->place[mark->places].kept[0] = units[2 * start];
                    mark->place[mark->places++].follows_load = loads && start == n;
                }
            }
        }
        loads = what == op.load_fast;
        argument = 0;
        start = -1;
    }
}

static PyObject *compiled_units(PyObject *code) {
#if PY_VERSION_HEX >= 0x030B0000
    return PyCode_GetCode((PyCodeObject *)code);
#else
    return Py_NewRef(((PyCodeObject *)code)->co_code);
#endif
}

static PyObject *board_attach(Board *self, PyObject *args) {
    PyObject *code;
    int is_call;
    if (!PyArg_ParseTuple(args, "O!p", &PyCode_Type, &code, &is_call))
        return NULL;
    PyObject *consts = ((PyCodeObject *)code)->co_consts;
    if (extra >= 0 && self->locate != NULL) {
        About *info = PyMem_Calloc(1, sizeof(About) + sizeof(int32_t) * (size_t)count_of_units(code));
        if (info == NULL)
            return PyErr_NoMemory();
        info->board = self; /* never followed, only compared */
        info->code = code;
        info->is_call = is_call;
        if (_PyCode_SetExtra(code, extra, info) < 0) {
            PyMem_Free(info);
            return NULL;
        }
    }
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(consts); n++) {
        PyObject *constant = PyTuple_GET_ITEM(consts, n);
        if (Py_TYPE(constant) == mark_type)
            ((Mark *)constant)->code = code, ((Mark *)constant)->places = 0;
    }
    PyObject *compiled = compiled_units(code);
    if (compiled == NULL)
        return NULL;
    find_places(code, consts, (const unsigned char *)PyBytes_AS_STRING(compiled));
    Py_DECREF(compiled);
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(consts); n++) {
        PyObject *constant = PyTuple_GET_ITEM(consts, n);
        if (Py_TYPE(constant) == mark_type && ((Mark *)constant)->places < 0)
            ((Mark *)constant)->places = 0;
    }
    Py_RETURN_NONE;
}

/* The board */

static PyObject *board_use(Board *self, PyObject *args) {
    PyObject *tape, *call = NULL;
    if (!PyArg_ParseTuple(args, "O|O", &tape, &call))
        return NULL;
    switch_all_on(self);
    self->unsure = 0, self->depth = 0;
    PyObject *old = (PyObject *)self->tape, *old_call = self->call;
    self->tape = Py_TYPE(tape) == tape_type ? (Tape *)tape : NULL;
    Py_XINCREF(self->tape);
    Py_XINCREF(call);
    self->call = call;
    Py_XDECREF(old);
    Py_XDECREF(old_call);
    Py_RETURN_NONE;
}

static PyObject *board_off(Board *self, PyObject *none) {
    long count = 0;
    for (Mark *mark = self->off; mark != NULL; mark = mark->next)
        count++;
    return PyLong_FromLong(count);
}

static PyObject *board_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *locate, *keeps;
    if (!PyArg_ParseTuple(args, "OO", &locate, &keeps))
        return NULL;
    Board *self = (Board *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL)
        return NULL;
    Py_INCREF(locate), self->locate = locate;
    Py_INCREF(keeps), self->keeps = keeps;
    self->stretch = 1;
    return (PyObject *)self;
}

static int board_traverse(Board *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->tape);
    Py_VISIT(self->call);
    Py_VISIT(self->locate);
    Py_VISIT(self->keeps);
    return 0;
}

static int board_clear(Board *self) {
    switch_all_on(self);
    Py_CLEAR(self->tape);
    Py_CLEAR(self->call);
    return 0;
}

static void board_dealloc(Board *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    board_clear(self);
    Py_CLEAR(self->locate);
    Py_CLEAR(self->keeps);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *mark_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *board;
    long number;
    int flags, ordinal;
    if (!PyArg_ParseTuple(args, "O!lii", board_type, &board, &number, &flags, &ordinal))
        return NULL;
    Mark *self = (Mark *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL)
        return NULL;
    Py_INCREF(board), self->board = (Board *)board;
    self->number = number, self->flags = flags, self->ordinal = ordinal;
    return (PyObject *)self;
}

static void mark_dealloc(Mark *self) {
    PyTypeObject *type = Py_TYPE(self);
    if (self->link != NULL)
        unlink_mark(self);
    Py_CLEAR(self->board);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *configure(PyObject *module, PyObject *args) {
    return PyArg_ParseTuple(args, "bbbbbbbbbbbbbb", &op.extended, &op.load_const, &op.negative, &op.pop_top,
                            &op.build_tuple, &op.subscript, &op.jump, &op.load_fast, &op.load_both,
                            &op.jump_if_true_or_pop, &op.copy, &op.to_bool, &op.pop_jump_if_true,
                            &op.extended_quick)
               ? Py_NewRef(Py_None)
               : NULL;
}

static PyMethodDef functions[] = {
    {"configure", configure, METH_VARARGS, "The numbers of the instructions that marks are made of."},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef board_methods[] = {
    {"use", (PyCFunction)board_use, METH_VARARGS, "Write to this tape from now on; or call this; or neither."},
    {"attach", (PyCFunction)board_attach, METH_VARARGS, "Find the marks in a piece of code."},
    {"off", (PyCFunction)board_off, METH_NOARGS, "How many marks are switched off."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef mark_members[] = {
    {"number", T_LONG, offsetof(Mark, number), READONLY, "The statement's number."},
    {"ordinal", T_INT, offsetof(Mark, ordinal), READONLY, "Which of its file's pieces of code it is in."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot board_slots[] = {
    {Py_tp_doc, "Where the marks of a program are written down."},
    {Py_tp_new, board_new},
    {Py_tp_dealloc, board_dealloc},
    {Py_tp_traverse, board_traverse},
    {Py_tp_clear, board_clear},
    {Py_tp_methods, board_methods},
    {0, NULL},
};

static PyType_Slot mark_slots[] = {
    {Py_tp_doc, "A mark: a constant in the program's code. To negate it writes it down."},
    {Py_tp_new, mark_new},
    {Py_tp_dealloc, mark_dealloc},
    {Py_nb_negative, mark_meets},
    {Py_tp_members, mark_members},
    {0, NULL},
};

static PyType_Spec board_spec = {
    "afterward.observe.marks._tape.Board", sizeof(Board), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, board_slots,
};
static PyType_Spec mark_spec = {"afterward.observe.marks._tape.Mark", sizeof(Mark), 0, Py_TPFLAGS_DEFAULT, mark_slots};

int fill_marks(PyObject *module) {
    board_type = (PyTypeObject *)PyType_FromSpec(&board_spec);
    mark_type = (PyTypeObject *)PyType_FromSpec(&mark_spec);
    if (board_type == NULL || mark_type == NULL)
        return -1;
    if (extra < 0)
        extra = _PyEval_RequestCodeExtraIndex(forget);
    Py_INCREF(board_type), Py_INCREF(mark_type);
    if (PyModule_AddObject(module, "Board", (PyObject *)board_type) < 0 ||
        PyModule_AddObject(module, "Mark", (PyObject *)mark_type) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}

/* Runs the program as if nothing had called it: none of our frames is below its own, and none of our depth counts. */

#include "_frames.h"
#include "_tape.h"

typedef struct {
    PyThreadState *thread;
    Running *frame;
    int depth;
} Below;

static Below step_aside(void) {
    PyThreadState *thread = PyThreadState_Get();
    Below below = {thread, *running_slot(thread), 0};
    *running_slot(thread) = NULL;
#if PY_VERSION_HEX >= 0x030C0000
    below.depth = thread->py_recursion_limit - thread->py_recursion_remaining;
    thread->py_recursion_remaining = thread->py_recursion_limit;
#elif PY_VERSION_HEX >= 0x030B0000
    below.depth = thread->recursion_limit - thread->recursion_remaining;
    thread->recursion_remaining = thread->recursion_limit;
#else
    below.depth = thread->recursion_depth;
    thread->recursion_depth = 0;
#endif
    return below;
}

static void step_back(Below below) {
    PyThreadState *thread = below.thread;
    *running_slot(thread) = below.frame;
#if PY_VERSION_HEX >= 0x030C0000
    thread->py_recursion_remaining = thread->py_recursion_limit - below.depth;
#elif PY_VERSION_HEX >= 0x030B0000
    thread->recursion_remaining = thread->recursion_limit - below.depth;
#else
    thread->recursion_depth = below.depth;
#endif
    PyEval_SetTrace(NULL, NULL); /* a tracer of the program's has no business with what follows */
    PyEval_SetProfile(NULL, NULL);
}

/* The exception that is set, as an object with its traceback; it is set no longer. */
static PyObject *taken(void) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL && value != NULL)
        PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
}

static void flush(const char *name) {
    PyObject *stream = PySys_GetObject(name); /* borrowed */
    if (stream == NULL)
        return;
    Py_INCREF(stream);
    PyObject *done = PyObject_CallMethod(stream, "flush", NULL);
    Py_XDECREF(done);
    Py_DECREF(stream);
    if (done == NULL)
        PyErr_Clear();
}

/* apart(code, namespace) executes; apart(function, *arguments) calls. Gives back what it raised, or None. */
static PyObject *apart(PyObject *module, PyObject *args) {
    if (PyTuple_GET_SIZE(args) < 1)
        return PyErr_Format(PyExc_TypeError, "apart takes code or a function");
    PyObject *what = PyTuple_GET_ITEM(args, 0);
    PyObject *rest = PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args));
    if (rest == NULL)
        return NULL;
    int is_code = PyCode_Check(what) && PyTuple_GET_SIZE(rest) == 1;
    PyObject *space = is_code ? PyTuple_GET_ITEM(rest, 0) : NULL;
    Below below = step_aside();
    PyObject *done = is_code ? PyEval_EvalCode(what, space, space) : PyObject_Call(what, rest, NULL);
    PyObject *error = done == NULL ? taken() : NULL;
    if (is_code) { /* as Python does after a file, not after a module */
        flush("stderr");
        flush("stdout");
    }
    step_back(below);
    Py_DECREF(rest);
    Py_XDECREF(done);
    return error != NULL ? error : Py_NewRef(Py_None);
}

/* Print an exception that has ended the program, with the program's own hook if it has one. */
static PyObject *print_error(PyObject *module, PyObject *error) {
    if (!PyExceptionInstance_Check(error))
        return PyErr_Format(PyExc_TypeError, "print_error takes an exception");
    Below below = step_aside();
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(error)), Py_NewRef(error), PyException_GetTraceback(error));
    PyErr_PrintEx(1);
    step_back(below);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"apart", apart, METH_VARARGS, "Execute code in a namespace, or call a function, as if nothing had called it."},
    {"print_error", print_error, METH_O, "Print an exception as Python does for one that ends a program."},
    {NULL, NULL, 0, NULL},
};

int fill_apart(PyObject *module) { return PyModule_AddFunctions(module, functions); }

/* The variables of a function that is running, read where they lie.

   To ask a frame for `f_locals` leaves a dictionary in it, before Python 3.13, which keeps what the variables held alive
   until the function returns. */

#include "_frames.h"
#include "_tape.h"

#if PY_VERSION_HEX >= 0x030D0000

static PyObject *locals_of(PyObject *module, PyObject *frame) { return PyObject_GetAttrString(frame, "f_locals"); }

#else

/* Put a variable into the dictionary: itself, or what lies in its cell. */
static int put(PyObject *found, PyObject *name, PyObject *value, int in_cell) {
    if (in_cell && value != NULL && PyCell_Check(value))
        value = PyCell_GET(value);
    return value == NULL ? 0 : PyDict_SetItem(found, name, value);
}

#if PY_VERSION_HEX >= 0x030B0000

static int collect(PyFrameObject *frame, PyCodeObject *code, PyObject *found) {
    const char *kinds = PyBytes_AS_STRING(code->co_localspluskinds);
    for (int i = 0; i < code->co_nlocalsplus; i++) {
        PyObject *name = PyTuple_GET_ITEM(code->co_localsplusnames, i);
        if (put(found, name, frame->f_frame->localsplus[i], (kinds[i] & (0x40 | 0x80)) != 0) < 0) /* a cell, a free one */
            return -1;
    }
    return 0;
}

#else

static int collect(PyFrameObject *frame, PyCodeObject *code, PyObject *found) {
    PyObject *names[] = {code->co_varnames, code->co_cellvars, code->co_freevars};
    PyObject **values = frame->f_localsplus;
    for (int kind = 0; kind < 3; kind++)
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names[kind]); i++)
            if (put(found, PyTuple_GET_ITEM(names[kind], i), *values++, kind > 0) < 0)
                return -1;
    return 0;
}

#endif

static PyObject *locals_of(PyObject *module, PyObject *frame) {
    if (!PyFrame_Check(frame))
        return PyErr_Format(PyExc_TypeError, "locals_of takes a frame");
    PyCodeObject *code = PyFrame_GetCode((PyFrameObject *)frame);
    PyObject *found = NULL;
    if (code->co_flags & CO_OPTIMIZED) {
        found = PyDict_New();
        if (found != NULL && collect((PyFrameObject *)frame, code, found) < 0)
            Py_CLEAR(found);
    } else { /* of a module or a class: what it has is that dictionary */
        found = PyObject_GetAttrString(frame, "f_locals");
    }
    Py_DECREF(code);
    return found;
}

#endif

static PyMethodDef functions[] = {
    {"locals_of", locals_of, METH_O, "The variables of a frame, without a trace of the reading left in it."},
    {NULL, NULL, 0, NULL},
};

int fill_locals(PyObject *module) { return PyModule_AddFunctions(module, functions); }

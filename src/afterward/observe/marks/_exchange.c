/* Gives a call that is running other code, from the instruction that it is at: the same function with marks in it.

   The interpreter of Python 3.11 reads everything about a call from its record when a function that it called returns, if
   that was a Python function which it did not start another loop for. While such a function runs, the caller's code can
   be exchanged. */

#include "_frames.h"
#include "_tape.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000

/* The call that this one has made, which is running; NULL where it runs itself, or nothing is known of it. */
static Running *called_by(Running *frame) {
    Running *called = NULL, *one = *running_slot(PyThreadState_Get());
    for (; one != NULL && one != frame; one = caller_of(one))
        called = one;
    return one != NULL ? called : NULL;
}

static int fits(PyCodeObject *code, PyCodeObject *into) {
    return code->co_nlocalsplus == into->co_nlocalsplus && code->co_stacksize <= into->co_stacksize &&
           code->co_flags == into->co_flags &&
           PyObject_RichCompareBool(code->co_localsplusnames, into->co_localsplusnames, Py_EQ) == 1 &&
           PyObject_RichCompareBool(code->co_localspluskinds, into->co_localspluskinds, Py_EQ) == 1;
}

/* exchange(frame, code, unit): the call goes on after this unit of that code. False: not now. */
static PyObject *exchange(PyObject *module, PyObject *args) {
    PyFrameObject *frame;
    PyCodeObject *code;
    Py_ssize_t unit;
    if (!PyArg_ParseTuple(args, "O!O!n", &PyFrame_Type, &frame, &PyCode_Type, &code, &unit))
        return NULL;
    Running *running = frame->f_frame, *called = called_by(running);
    if (called == NULL || called->is_entry || unit < 0 || unit >= Py_SIZE(code) || !fits(code, running->f_code))
        Py_RETURN_FALSE;
    PyCodeObject *old = running->f_code;
    Py_INCREF(code);
    running->f_code = code;
    running->prev_instr = (_Py_CODEUNIT *)code->co_code_adaptive + unit;
    Py_DECREF(old);
    Py_RETURN_TRUE;
}

static PyMethodDef functions[] = {
    {"exchange", exchange, METH_VARARGS, "Give a running call other code, from the instruction that it is at."},
    {NULL, NULL, 0, NULL},
};

int fill_exchange(PyObject *module) { return PyModule_AddFunctions(module, functions); }

#else

int fill_exchange(PyObject *module) { return 0; }

#endif

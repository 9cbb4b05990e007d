/* The calls that are running, read from the interpreter itself: to ask for frame objects would make them.

   This is what differs between versions of Python, in one place. */

#ifndef AFTERWARD_FRAMES_H
#define AFTERWARD_FRAMES_H

#include <Python.h>
#if PY_VERSION_HEX >= 0x030B0000
#define Py_BUILD_CORE
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#else
#include <frameobject.h>
#endif

#if PY_VERSION_HEX >= 0x030D0000
typedef _PyInterpreterFrame Running;
static inline Running **running_slot(PyThreadState *thread) { return &thread->current_frame; }
static inline Running *caller_of(Running *frame) { return frame->previous; }
static inline PyObject *code_of(Running *frame) { return frame->f_executable; }
static inline Py_ssize_t unit_of(Running *frame) {
    return frame->instr_ptr - (_Py_CODEUNIT *)((PyCodeObject *)frame->f_executable)->co_code_adaptive;
}
#elif PY_VERSION_HEX >= 0x030B0000
typedef _PyInterpreterFrame Running;
static inline Running **running_slot(PyThreadState *thread) { return &thread->cframe->current_frame; }
static inline Running *caller_of(Running *frame) { return frame->previous; }
static inline PyObject *code_of(Running *frame) { return (PyObject *)frame->f_code; }
static inline Py_ssize_t unit_of(Running *frame) {
    return frame->prev_instr - (_Py_CODEUNIT *)((PyCodeObject *)frame->f_code)->co_code_adaptive;
}
#else
typedef PyFrameObject Running;
static inline Running **running_slot(PyThreadState *thread) { return &thread->frame; }
static inline Running *caller_of(Running *frame) { return frame->f_back; }
static inline PyObject *code_of(Running *frame) { return (PyObject *)frame->f_code; }
static inline Py_ssize_t unit_of(Running *frame) { return frame->f_lasti; }
#endif

/* The instructions of a piece of code, two bytes each, where they are executed. */
static inline unsigned char *units_of(PyObject *code) {
#if PY_VERSION_HEX >= 0x030B0000
    return (unsigned char *)((PyCodeObject *)code)->co_code_adaptive;
#else
    return (unsigned char *)PyBytes_AS_STRING(((PyCodeObject *)code)->co_code);
#endif
}

static inline Py_ssize_t count_of_units(PyObject *code) {
#if PY_VERSION_HEX >= 0x030B0000
    return Py_SIZE(code);
#else
    return PyBytes_GET_SIZE(((PyCodeObject *)code)->co_code) / 2;
#endif
}

#endif

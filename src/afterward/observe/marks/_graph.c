/* A graph as it lies in memory: its nodes are gone through, and asked, without an object of Python for each.

   Torch keeps such an object for as long as it keeps the node, and gives both back one inside of the other: a deep chain
   of which Python has seen each node overflows the stack of whoever drops it. Where things lie in a node is measured
   (node_layout.py), on nodes that are made for it. */

#include "_tape.h"

#define AT(address, offset) (*(void **)((char *)(address) + (offset)))
#define BEHIND sizeof(PyObject) /* where the object of a node says which node it is */

typedef struct {
    void *node;
    uint32_t output;
} Edge;

typedef struct {
    void **node;
    uint32_t *slot; /* a table of places in `node`, one more than each; 0 is free */
    size_t count, room, slots;
} Met;

static size_t slot_of(Met *met, void *node) {
    size_t at = (size_t)(((uintptr_t)node >> 4) * UINT64_C(0x9E3779B97F4A7C15)) & (met->slots - 1);
    while (met->slot[at] != 0 && met->node[met->slot[at] - 1] != node)
        at = (at + 1) & (met->slots - 1);
    return at;
}

static int make_room(Met *met) {
    size_t room = met->room ? 2 * met->room : 1024, slots = 2 * room;
    void **node = PyMem_RawRealloc(met->node, room * sizeof(void *));
    if (node == NULL)
        return -1;
    met->node = node, met->room = room;
    PyMem_RawFree(met->slot);
    met->slot = PyMem_RawCalloc(slots, sizeof(uint32_t));
    if (met->slot == NULL)
        return -1;
    met->slots = slots;
    for (size_t n = 0; n < met->count; n++)
        met->slot[slot_of(met, met->node[n])] = (uint32_t)n + 1;
    return 0;
}

/* The place of a node among those that were met; -1 where there is no memory. */
static int64_t place_of(Met *met, void *node) {
    if (met->count == met->room && make_room(met) < 0)
        return -1;
    size_t at = slot_of(met, node);
    if (met->slot[at] == 0) {
        met->node[met->count] = node;
        met->slot[at] = (uint32_t)++met->count;
    }
    return met->slot[at] - 1;
}

typedef struct {
    int32_t *number;
    size_t count, room;
} Numbers;

static int put(Numbers *all, int32_t number) {
    if (all->count == all->room) {
        size_t room = all->room ? 2 * all->room : 4096;
        int32_t *more = PyMem_RawRealloc(all->number, room * sizeof(int32_t));
        if (more == NULL)
            return -1;
        all->number = more, all->room = room;
    }
    all->number[all->count++] = number;
    return 0;
}

/* The edges of all nodes, one node after the other: which node (-1: none) and which of its outputs. */
static int follow_edges(Met *met, Numbers *starts, Numbers *ends, Py_ssize_t edges_at) {
    for (size_t n = 0; n < met->count; n++) {
        char *edge = AT(met->node[n], edges_at), *end = AT(met->node[n], edges_at + (Py_ssize_t)sizeof(void *));
        if (put(starts, (int32_t)(ends->count / 2)) < 0)
            return -1;
        for (; edge < end; edge += sizeof(Edge)) {
            void *node = ((Edge *)edge)->node;
            int64_t place = node != NULL ? place_of(met, node) : -1;
            if ((node != NULL && place < 0) || put(ends, (int32_t)place) < 0 ||
                put(ends, (int32_t)((Edge *)edge)->output) < 0)
                return -1;
        }
    }
    return put(starts, (int32_t)(ends->count / 2));
}

static PyObject *bytes_of(const void *memory, size_t size) {
    return PyBytes_FromStringAndSize(size ? memory : "", (Py_ssize_t)size);
}

/* go_through(addresses of the roots, where the edges lie) -> the addresses of all nodes, where the edges of each begin,
   the edges; as bytes. */
static PyObject *go_through(PyObject *module, PyObject *args) {
    PyObject *result = NULL;
    Py_buffer roots;
    Py_ssize_t edges_at;
    Met met = {0};
    Numbers starts = {0}, ends = {0};
    if (!PyArg_ParseTuple(args, "y*n", &roots, &edges_at))
        return NULL;
    int failed = 0;
    for (Py_ssize_t n = 0; n < roots.len / (Py_ssize_t)sizeof(void *) && !failed; n++)
        failed = place_of(&met, ((void **)roots.buf)[n]) < 0;
    if (failed || follow_edges(&met, &starts, &ends, edges_at) < 0)
        PyErr_NoMemory();
    else
        result = Py_BuildValue("NNN", bytes_of(met.node, met.count * sizeof(void *)),
                               bytes_of(starts.number, starts.count * sizeof(int32_t)),
                               bytes_of(ends.number, ends.count * sizeof(int32_t)));
    PyBuffer_Release(&roots);
    PyMem_RawFree(met.node), PyMem_RawFree(met.slot), PyMem_RawFree(starts.number), PyMem_RawFree(ends.number);
    return result;
}

/* The object of a node: the one that it has, or a new one. */
static PyObject *object_of(PyObject *module, PyObject *args) {
    unsigned long long address, function;
    if (!PyArg_ParseTuple(args, "KK", &address, &function))
        return NULL;
    void *node = (void *)(uintptr_t)address;
    return ((PyObject * (*)(void **))(uintptr_t)function)(&node);
}

/* An object of a node's class that is of no node yet. It is never given back, and no collector goes through it. */
static PyObject *glass(PyObject *module, PyObject *type) {
    PyObject *made = PyType_Check(type) ? PyType_GenericAlloc((PyTypeObject *)type, 0) : NULL;
    if (made == NULL)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "glass takes a class");
    if (PyObject_GC_IsTracked(made))
        PyObject_GC_UnTrack(made);
    return Py_NewRef(made);
}

/* point(glass, address): asked from here on, it answers for the node there; 0: for none. */
static PyObject *point(PyObject *module, PyObject *args) {
    PyObject *made;
    unsigned long long address;
    if (!PyArg_ParseTuple(args, "OK", &made, &address))
        return NULL;
    AT(made, BEHIND) = (void *)(uintptr_t)address;
    Py_RETURN_NONE;
}

/* What stands at one offset of each of these addresses, as bytes. */
static PyObject *words_at(PyObject *module, PyObject *args) {
    Py_buffer all;
    Py_ssize_t offset;
    if (!PyArg_ParseTuple(args, "y*n", &all, &offset))
        return NULL;
    PyObject *found = PyBytes_FromStringAndSize(NULL, all.len);
    void **from = all.buf, **to = found != NULL ? (void **)PyBytes_AS_STRING(found) : NULL;
    for (Py_ssize_t n = 0; to != NULL && n < all.len / (Py_ssize_t)sizeof(void *); n++)
        to[n] = AT(from[n], offset);
    PyBuffer_Release(&all);
    return found;
}

static PyMethodDef functions[] = {
    {"go_through", go_through, METH_VARARGS, "All nodes behind some: addresses, where the edges of each begin, edges."},
    {"object_of", object_of, METH_VARARGS, "The object of the node at an address, by torch's own function."},
    {"glass", glass, METH_O, "An object through which nodes of one class can be asked."},
    {"point", point, METH_VARARGS, "Point it at the node at an address."},
    {"words_at", words_at, METH_VARARGS, "What stands at one offset of each address."},
    {NULL, NULL, 0, NULL},
};

int fill_graph(PyObject *module) { return PyModule_AddFunctions(module, functions); }

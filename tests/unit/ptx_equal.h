/* ptx_equal.h: are two PTX modules the same in structure? Ids are compared by what they name. */
#ifndef TESTS_PTX_EQUAL_H
#define TESTS_PTX_EQUAL_H

#include "emit/ptx.h"

/* NULL if equal, else the first difference in words, in `room`. */
const char *ptx_difference(const pg_ptx_module *a, const pg_ptx_module *b, char room[256]);

#endif

#include "ir/target.h"

enum { KIB = 1024, REGS = 65536 };

/* Shared memory, registers and warps: CUDA C++ Programming Guide, "Technical Specifications per
 * Compute Capability" (a CTA may use what a multiprocessor has, less 1 KiB that the system keeps).
 * min_ptx: PTX ISA, release notes of `.target`; tried with ptxas 13.0.88. */
/* clang-format off */
const pg_target pg_targets[] = {
    /* name      sm  arch   ptx  smem/CTA   smem/SM    regs  /thread warps */
    {"sm_80",    80, false, 70, 163 * KIB, 164 * KIB, REGS, 255,    32},
    {"sm_86",    86, false, 71,  99 * KIB, 100 * KIB, REGS, 255,    32},
    {"sm_87",    87, false, 74, 163 * KIB, 164 * KIB, REGS, 255,    32},
    {"sm_89",    89, false, 78,  99 * KIB, 100 * KIB, REGS, 255,    32},
    {"sm_90",    90, false, 78, 227 * KIB, 228 * KIB, REGS, 255,    32},
    {"sm_90a",   90, true,  80, 227 * KIB, 228 * KIB, REGS, 255,    32},
    {"sm_100",  100, false, 86, 227 * KIB, 228 * KIB, REGS, 255,    32},
    {"sm_100a", 100, true,  86, 227 * KIB, 228 * KIB, REGS, 255,    32},
    {"sm_103",  103, false, 88, 227 * KIB, 228 * KIB, REGS, 255,    32},
    {"sm_103a", 103, true,  88, 227 * KIB, 228 * KIB, REGS, 255,    32},
    {"sm_110",  110, false, 90, 227 * KIB, 228 * KIB, REGS, 255,    32},
    {"sm_110a", 110, true,  90, 227 * KIB, 228 * KIB, REGS, 255,    32},
    {"sm_120",  120, false, 87,  99 * KIB, 100 * KIB, REGS, 255,    32},
    {"sm_120a", 120, true,  87,  99 * KIB, 100 * KIB, REGS, 255,    32},
};
/* clang-format on */
const uint32_t pg_n_targets = PG_COUNT_OF(pg_targets);

const pg_target *pg_target_find(pg_str name)
{
    for (uint32_t i = 0; i < pg_n_targets; i++) {
        if (pg_str_is(name, pg_targets[i].name)) {
            return &pg_targets[i];
        }
    }
    return NULL;
}

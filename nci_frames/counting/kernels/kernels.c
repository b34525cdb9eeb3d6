/* The inner loops of counting: what NumPy does in many passes over the rows, in one.

   The Python files beside this one call these functions, and say in NumPy what they compute. Rows come in arrays of n values. */

#define _DEFAULT_SOURCE /* for madvise */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

/* Functions that wider vectors make faster: the processor at hand is told at run time. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12
#define CLONED __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define CLONED
#endif

/* Values of an array whose pages are asked for at once: few enough to be still in the cache when they are written, and
   other threads that ask for memory wait for a short time only. */
enum { POPULATED = 1 << 13 };

/* Ask the system for the pages of a part of a new array of 8-byte values: a fault for each takes twice the time. */
static void get_pages(void *values, int64_t number)
{
#ifdef MADV_POPULATE_WRITE
    const uintptr_t page = 4096, begin = (uintptr_t)values, first = begin / page * page;
    const uintptr_t last = (begin + 8 * (uintptr_t)number) / page * page;
    if (first < last)
        madvise((void *)first, last - first, MADV_POPULATE_WRITE); /* where it fails, pages come by faults */
#endif
    (void)values, (void)number;
}

/* Put the groups first, ..., groups - 1 into a hash table of 1 << bits slots; an empty slot holds -1. */
void insert_groups(int64_t first, int64_t groups, const uint64_t *known, int64_t bits, int64_t *slots)
{
    const uint64_t last = ((uint64_t)1 << bits) - 1;
    for (int64_t group = first; group < groups; group++) {
        uint64_t slot = known[group] >> (64 - bits);
        while (slots[slot] >= 0)
            slot = (slot + 1) & last;
        slots[slot] = group;
    }
}

/* Find the group of each hash; -1 if it is unknown. */
void find_groups(int64_t n, const uint64_t *hashes, const uint64_t *known, int64_t bits, const int64_t *slots,
                 int64_t *numbers)
{
    const uint64_t last = ((uint64_t)1 << bits) - 1;
    for (int64_t row = 0; row < n; row++) {
        uint64_t slot = hashes[row] >> (64 - bits);
        while (slots[slot] >= 0 && known[slots[slot]] != hashes[row])
            slot = (slot + 1) & last;
        numbers[row] = slots[slot];
    }
}

/* Add 1 to the count of each code. Its lowest 8 bits are kept apart, of which far more fit into the cache. */
void count_codes(int64_t n, const int64_t *codes, uint8_t *low, int64_t *counts)
{
    for (int64_t row = 0; row < n; row++)
        if (!++low[codes[row]])
            counts[codes[row]] += 256;
}

/* Add the weight of each row to the cell of its code, in the order of the rows. */
void sum_codes(int64_t n, const int64_t *codes, const double *weights, double *cells)
{
    for (int64_t row = 0; row < n; row++)
        cells[codes[row]] += weights[row];
}

/* Mix a value into each hash: the finaliser of SplitMix64 of their sum. */
CLONED void mix_values(int64_t n, uint64_t *hashes, const uint64_t *values)
{
    for (int64_t row = 0; row < n; row++) {
        uint64_t sum = hashes[row] + values[row];
        sum = (sum ^ sum >> 30) * 0xBF58476D1CE4E5B9;
        sum = (sum ^ sum >> 27) * 0x94D049BB133111EB;
        hashes[row] = sum ^ sum >> 31;
    }
}

#define REAL float
#define BITS int32_t
#define OF_TYPE(name) name##_float32
#include "scores.h"

#define REAL double
#define BITS int64_t
#define OF_TYPE(name) name##_float64
#include "scores.h"

#include "thrift.h"

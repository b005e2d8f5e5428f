#include "allocations.h"

#if defined(__GLIBC__) || defined(__linux__)
#include <errno.h>
#include <features.h>
#include <malloc.h>
#include <stddef.h>
#endif

#if defined(__GLIBC__)

/* The program's own malloc, which counts and passes on to the library's. One counter a thread, so that counting does not
   make threads wait for each other. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static __thread long count __attribute__((tls_model("initial-exec")));

void *malloc(size_t size) {
    count += 1;
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count += 1;
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
    count += 1;
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count += 1;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    count += 1;
    void *fresh = __libc_memalign(alignment, size);
    if (fresh == NULL) return ENOMEM;
    *memory = fresh;
    return 0;
}

long strata_allocations(void) { return count; }

void strata_return_freed_memory(void) { mallopt(M_MMAP_THRESHOLD, 128 << 10); }

#else

long strata_allocations(void) { return -1; }

void strata_return_freed_memory(void) {}

#endif

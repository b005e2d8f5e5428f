#ifndef STRATA_ALLOCATIONS_H
#define STRATA_ALLOCATIONS_H

/* How often the calling thread has asked for memory; -1 where that is not counted. */
long strata_allocations(void);

#endif

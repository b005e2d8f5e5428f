#ifndef STRATA_ALLOCATIONS_H
#define STRATA_ALLOCATIONS_H

/* How often the calling thread has asked for memory; -1 where that is not counted. */
long strata_allocations(void);

/* Lets large pieces of memory go back to the system as soon as they are freed: else what one measurement has freed serves
   the next, whose size then cannot be seen. */
void strata_return_freed_memory(void);

#endif

#ifndef STRATA_HIREDIS_PIPELINE_H
#define STRATA_HIREDIS_PIPELINE_H

/* GETs of one key by hiredis alone, `depth` of them under way at once, until `seconds` have gone by: how many a second.
   With `count` of 1 it is GET, else MGET of that many keys. -1 where a call failed. The thread waits meanwhile. */
double strata_hiredis_gets(const char *host, int port, const char *const *keys, int count, int depth, double seconds);

#endif

#ifndef STRATA_CZSTD_SHIM_H
#define STRATA_CZSTD_SHIM_H

#include <zstd.h>

// Macros, which Swift does not see because of their casts.
static inline unsigned long long strata_zstd_size_unknown(void) { return ZSTD_CONTENTSIZE_UNKNOWN; }
static inline unsigned long long strata_zstd_size_error(void) { return ZSTD_CONTENTSIZE_ERROR; }

#endif

#ifndef STRATA_CZLIB_SHIM_H
#define STRATA_CZLIB_SHIM_H

#include <zlib.h>

// A macro, so Swift does not see it.
static inline int strata_inflate_init(z_stream *stream) { return inflateInit(stream); }

#endif

#ifndef STRATA_FUZZER_H
#define STRATA_FUZZER_H

#include <stddef.h>
#include <stdint.h>

/// libFuzzer as a library: runs until it is told to stop or an input crashes (llvm.org/docs/LibFuzzer.html).
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));

#endif

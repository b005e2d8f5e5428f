#include "pipeline.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double gets(redisContext *context, int count, const char **words, int depth, double seconds) {
    const double start = now();
    double end = start;
    long replies = 0;
    while (end - start < seconds) {
        for (int call = 0; call < depth; call++) {
            if (redisAppendCommandArgv(context, count + 1, words, NULL) != REDIS_OK) {
                return -1;
            }
        }
        for (int call = 0; call < depth; call++) {
            redisReply *reply = NULL;
            if (redisGetReply(context, (void **)&reply) != REDIS_OK || reply == NULL) {
                return -1;
            }
            const int type = reply->type;
            freeReplyObject(reply);
            if (type != (count == 1 ? REDIS_REPLY_STRING : REDIS_REPLY_ARRAY)) {
                return -1;
            }
            replies += 1;
        }
        end = now();
    }
    return (double)replies / (end - start);
}

double strata_hiredis_gets(const char *host, int port, const char *const *keys, int count, int depth, double seconds) {
    double rate = -1;
    redisContext *context = redisConnect(host, port);
    const char **words = calloc((size_t)count + 1, sizeof *words);
    if (context != NULL && context->err == 0 && words != NULL) {
        words[0] = count == 1 ? "GET" : "MGET";
        for (int key = 0; key < count; key++) {
            words[key + 1] = keys[key];
        }
        rate = gets(context, count, words, depth, seconds);
    }
    free(words);
    if (context != NULL) {
        redisFree(context);
    }
    return rate;
}

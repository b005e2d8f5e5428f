/*
 * The only door to hiredis.
 *
 * Strata uses hiredis as a RESP parser: a redisReader with reply callbacks of our own, no redisContext, no redisReply.
 * The layout of redisReader and redisReadTask differs between 0.14 and 1.x, so no struct of hiredis is read from Swift:
 * everything that touches a field is a static inline function here.
 */
#ifndef STRATA_CHIREDIS_SHIM_H
#define STRATA_CHIREDIS_SHIM_H

#include <hiredis/hiredis.h>
#include <hiredis/read.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if !defined(HIREDIS_MAJOR) || !defined(HIREDIS_MINOR) || !defined(HIREDIS_PATCH)
#error "hiredis does not say its version: install libhiredis-dev 0.14 or later"
#elif HIREDIS_MAJOR == 0 && HIREDIS_MINOR < 14
#error "hiredis is older than 0.14: install a later libhiredis-dev"
#elif HIREDIS_MAJOR > 1
#error "unknown major version of hiredis: check redisReader, redisReadTask and redisReplyObjectFunctions in shim.h first"
#endif

/* The version of the headers that were compiled against. */
static inline int chiredis_major(void) { return HIREDIS_MAJOR; }
static inline int chiredis_minor(void) { return HIREDIS_MINOR; }
static inline int chiredis_patch(void) { return HIREDIS_PATCH; }

/* Sizes as this compiler sees them; a test holds them against the table of known releases. */
static inline size_t chiredis_sizeof_reader(void) { return sizeof(redisReader); }
static inline size_t chiredis_sizeof_task(void) { return sizeof(redisReadTask); }
static inline size_t chiredis_sizeof_functions(void) { return sizeof(redisReplyObjectFunctions); }

/*
 * Where parsed elements go. A callback returns 0 to refuse the element; parsing then ends with an error.
 * `kind` is one of REDIS_REPLY_STRING, REDIS_REPLY_STATUS, REDIS_REPLY_ERROR. Types of RESP3, which is never asked for,
 * do not get there: hiredis before 1.0 does not know them, and of later ones `foreign` tells. `unterminated` tells of a
 * bulk string with something else than a line end behind it, which hiredis passes over unseen.
 */
typedef struct chiredis_sink {
    void *_Nonnull owner;
    int (*_Nonnull bytes)(void *_Nonnull owner, int kind, const char *_Nonnull data, size_t length);
    int (*_Nonnull array)(void *_Nonnull owner, int64_t count);
    int (*_Nonnull integer)(void *_Nonnull owner, int64_t value);
    int (*_Nonnull null)(void *_Nonnull owner);
    int foreign;
    int unterminated;
} chiredis_sink;

/* hiredis asks for an object and takes NULL for "out of memory": the sink itself stands for every accepted element. */
static inline void *chiredis_accept(int accepted, chiredis_sink *sink) { return accepted ? (void *)sink : NULL; }

/* hiredis would say "out of memory", so the sink is told what it really was. */
static inline void *chiredis_refuse_foreign(chiredis_sink *sink) {
    sink->foreign = 1;
    return NULL;
}

static void *chiredis_on_string(const redisReadTask *task, char *data, size_t length) {
    chiredis_sink *sink = (chiredis_sink *)task->privdata;
    if (task->type != REDIS_REPLY_STRING && task->type != REDIS_REPLY_STATUS && task->type != REDIS_REPLY_ERROR)
        return chiredis_refuse_foreign(sink); /* verbatim strings and big numbers */
    /* hiredis calls for a bulk string when the two bytes behind it are here, too. */
    if (task->type == REDIS_REPLY_STRING && (data[length] != '\r' || data[length + 1] != '\n')) {
        sink->unterminated = 1;
        return NULL;
    }
    return chiredis_accept(sink->bytes(sink->owner, task->type, data, length), sink);
}

#if HIREDIS_MAJOR >= 1
static void *chiredis_on_array(const redisReadTask *task, size_t count) {
#else
static void *chiredis_on_array(const redisReadTask *task, int count) {
#endif
    chiredis_sink *sink = (chiredis_sink *)task->privdata;
    if (task->type != REDIS_REPLY_ARRAY || (uint64_t)count > (uint64_t)INT64_MAX)
        return chiredis_refuse_foreign(sink); /* maps, sets and pushes */
    return chiredis_accept(sink->array(sink->owner, (int64_t)count), sink);
}

static void *chiredis_on_integer(const redisReadTask *task, long long value) {
    chiredis_sink *sink = (chiredis_sink *)task->privdata;
    return chiredis_accept(sink->integer(sink->owner, (int64_t)value), sink);
}

static void *chiredis_on_null(const redisReadTask *task) {
    chiredis_sink *sink = (chiredis_sink *)task->privdata;
    if (task->type != REDIS_REPLY_STRING && task->type != REDIS_REPLY_ARRAY)
        return chiredis_refuse_foreign(sink); /* the null of its own type, and null maps and sets */
    return chiredis_accept(sink->null(sink->owner), sink);
}

static void chiredis_on_free(void *object) { (void)object; /* the sink's owner frees what it built */ }

#if HIREDIS_MAJOR >= 1
static void *chiredis_on_double(const redisReadTask *task, double value, char *text, size_t length) {
    (void)value; (void)text; (void)length;
    return chiredis_refuse_foreign((chiredis_sink *)task->privdata);
}

static void *chiredis_on_bool(const redisReadTask *task, int value) {
    (void)value;
    return chiredis_refuse_foreign((chiredis_sink *)task->privdata);
}
#endif

/* A reader that calls the sink; the sink must outlive it. NULL when memory is out. */
static inline void *_Nullable chiredis_reader_create(chiredis_sink *_Nonnull sink) {
    static redisReplyObjectFunctions functions = {
        .createString = chiredis_on_string,
        .createArray = chiredis_on_array,
        .createInteger = chiredis_on_integer,
        .createNil = chiredis_on_null,
        .freeObject = chiredis_on_free,
#if HIREDIS_MAJOR >= 1
        .createDouble = chiredis_on_double,
        .createBool = chiredis_on_bool,
#endif
    };
    redisReader *reader = redisReaderCreateWithFunctions(&functions);
    if (reader != NULL) reader->privdata = sink;
    return reader;
}

static inline void chiredis_reader_free(void *_Nonnull reader) { redisReaderFree((redisReader *)reader); }

/* Appends bytes to the reader's buffer: 0, or -1 when the reader is finished. */
static inline int chiredis_reader_feed(void *_Nonnull reader, const void *_Nonnull data, size_t length) {
    return redisReaderFeed((redisReader *)reader, (const char *)data, length) == REDIS_OK ? 0 : -1;
}

/* Parses on: 1 one whole reply went to the sink, 0 more bytes are needed, -1 the stream is broken. */
static inline int chiredis_reader_next(void *_Nonnull reader) {
    void *reply = NULL;
    if (redisReaderGetReply((redisReader *)reader, &reply) != REDIS_OK) return -1;
    return reply == NULL ? 0 : 1;
}

/* Bytes that were fed and are not parsed yet. */
static inline size_t chiredis_reader_unread(const void *_Nonnull reader) {
    const redisReader *r = (const redisReader *)reader;
    return r->len - r->pos;
}

/* The task under way; only while r->ridx >= 0. */
static inline const redisReadTask *_Nonnull chiredis_reader_task(const redisReader *_Nonnull r) {
#if HIREDIS_MAJOR >= 1
    return r->task[r->ridx];
#else
    return &r->rstack[r->ridx];
#endif
}

/*
 * True between two replies: nothing of the next one has been taken yet. hiredis begins a reply as soon as it is asked for
 * one, and takes the byte that tells its type at once, so neither the task's depth nor the unread bytes tell by themselves.
 */
static inline int chiredis_reader_at_boundary(const void *_Nonnull reader) {
    const redisReader *r = (const redisReader *)reader;
    return chiredis_reader_unread(reader) == 0 && (r->ridx == -1 || (r->ridx == 0 && chiredis_reader_task(r)->type < 0));
}

/*
 * The length that the bulk string under way announces; -1 when the element under way is none, or its header is not
 * complete, or is one that hiredis will refuse. hiredis has no limit of its own: it would wait, and buffer, until the
 * announced length is there. A carriage return alone ends no header: hiredis looks on for the line feed.
 */
static inline long long chiredis_reader_pending_bulk(const void *_Nonnull reader) {
    const redisReader *r = (const redisReader *)reader;
    if (r->ridx < 0 || r->buf == NULL) return -1;
    if (chiredis_reader_task(r)->type != REDIS_REPLY_STRING) return -1;
    long long length = 0;
    for (size_t i = r->pos; i < r->len; i++) {
        char c = r->buf[i];
        if (c == '\r') return i + 1 < r->len && r->buf[i + 1] == '\n' ? length : -1;
        if (c < '0' || c > '9') return -1;
        if (length > (LLONG_MAX - 9) / 10) return LLONG_MAX; /* refused by any limit */
        length = length * 10 + (c - '0');
    }
    return -1;
}

/*
 * Cuts the bulk string under way short: what is here of it becomes the whole of it, and is parsed at the next call. The
 * announced length is overwritten in its place, right before the line end, and the last two bytes become the line end of
 * the string. Answers how many bytes are still to come, its line end among them, none of which may be fed; -1 when nothing
 * was changed, because fewer than two bytes of the string are here.
 */
static inline long long chiredis_reader_cut_bulk(void *_Nonnull reader) {
    redisReader *r = (redisReader *)reader;
    long long announced = chiredis_reader_pending_bulk(reader);
    if (announced < 0 || announced > LLONG_MAX - 2) return -1;
    size_t end = r->pos;
    while (r->buf[end] != '\r') end++;
    size_t here = r->len - (end + 2);
    if (here < 2 || (unsigned long long)here > (unsigned long long)announced) return -1;
    r->buf[r->len - 2] = '\r';
    r->buf[r->len - 1] = '\n';
    size_t length = here - 2;
    size_t digit = end;
    do {
        r->buf[--digit] = (char)('0' + length % 10);
        length /= 10;
    } while (length > 0);
    r->pos = digit;
    return announced + 2 - (long long)here;
}

/* The reader's own words about what broke it; valid until the reader is freed. */
static inline const char *_Nonnull chiredis_reader_error(const void *_Nonnull reader) {
    return ((const redisReader *)reader)->errstr;
}

#endif

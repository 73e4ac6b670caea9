/*
 * The PMI-1 conversation: requests out, one line of answer each.  May call
 * base/env for the clock, and base/text; everything the launcher says is checked.
 */
#include "am/pmi.h"

#include "base/env.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PS_PER_MS UINT64_C(1000000000)

enum {
    PMI_VALUE_BYTES_MAX = AM_PMI_LINE_BYTES / 2,
    SHOWN_BYTES = 81 /* of an answer in a sentence */
};

am_status_t am_pmi_fail(struct am_pmi *pmi, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(pmi->error, sizeof(pmi->error), format, args);
    va_end(args);
    pmi->broken = true;
    return AM_ERR_SYSTEM;
}

static am_status_t send_text(struct am_pmi *pmi, const char *text)
{
    size_t length = strlen(text);

    while (length > 0) {
        ssize_t sent = send(pmi->fd, text, length, MSG_NOSIGNAL);

        if (sent < 0 && errno == ENOTSOCK) {
            sent = write(pmi->fd, text, length);
        }
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0) {
            return am_pmi_fail(pmi,
                               "cannot write to the launcher (PMI_FD %d): %s",
                               pmi->fd, strerror(errno));
        }
        text += sent;
        length -= (size_t)sent;
    }
    return AM_OK;
}

/* The first whole line in the buffer, moved to `line`; false if none is. */
static bool take_line(struct am_pmi *pmi, char *line)
{
    char *end = memchr(pmi->line, '\n', pmi->filled);
    size_t length;

    if (end == NULL) {
        return false;
    }
    length = (size_t)(end - pmi->line);
    memcpy(line, pmi->line, length);
    line[length] = '\0';
    pmi->filled -= length + 1;
    memmove(pmi->line, end + 1, pmi->filled);
    return true;
}

/* What is left, for poll, of a wait of `timeout_ms` that began then. */
static int left_ms(uint64_t start_ps, int timeout_ms)
{
    uint64_t waited_ms;

    if (timeout_ms <= 0) {
        return timeout_ms;
    }
    waited_ms = (am_env_now(am_env_real()) - start_ps) / PS_PER_MS;
    return waited_ms < (uint64_t)timeout_ms ? timeout_ms - (int)waited_ms : 0;
}

/* Wait for one line, at most `timeout_ms` (-1: for ever): AM_ERR_AGAIN.  Signals
 * and parts of a line make it no longer.  The launcher's time is the machine's,
 * also where a context's is not. */
static am_status_t read_line(struct am_pmi *pmi, char *line, int timeout_ms)
{
    uint64_t start_ps = timeout_ms > 0 ? am_env_now(am_env_real()) : 0;

    while (!take_line(pmi, line)) {
        struct pollfd ready = {.fd = pmi->fd, .events = POLLIN};
        int count = poll(&ready, 1, left_ms(start_ps, timeout_ms));
        ssize_t got;

        if (count == 0) {
            return AM_ERR_AGAIN;
        }
        if (pmi->filled == sizeof(pmi->line)) {
            return am_pmi_fail(pmi,
                               "the launcher sent a line of over %zu bytes",
                               sizeof(pmi->line));
        }
        got = count < 0 ? -1
                        : read(pmi->fd, pmi->line + pmi->filled,
                               sizeof(pmi->line) - pmi->filled);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return am_pmi_fail(pmi,
                               "cannot read from the launcher (PMI_FD %d): %s",
                               pmi->fd, strerror(errno));
        }
        if (got == 0) {
            return am_pmi_fail(pmi,
                               "the launcher closed its connection (PMI_FD %d)",
                               pmi->fd);
        }
        pmi->filled += (size_t)got;
    }
    return AM_OK;
}

/* What the launcher said, cut to what fits in a sentence. */
static am_status_t bad_answer(struct am_pmi *pmi, const char *asked,
                              const char *line)
{
    char shown[SHOWN_BYTES];

    am_text_show(line, shown, sizeof(shown));
    return am_pmi_fail(pmi, "the launcher answered %s with \"%s\"", asked,
                       shown);
}

/* For read_line: -1 when there is no limit, or one of weeks. */
static int limit_ms(const struct am_pmi *pmi)
{
    return pmi->timeout_ms == 0 || pmi->timeout_ms >= INT_MAX
                   ? -1
                   : (int)pmi->timeout_ms;
}

/* Send `request`, take one line into `line`, which must be the answer `cmd`. */
static am_status_t ask(struct am_pmi *pmi, const char *what,
                       const char *request, const char *cmd, char *line)
{
    am_status_t status;

    if (pmi->broken) {
        return AM_ERR_SYSTEM;
    }
    if (pmi->in_barrier) {
        return am_pmi_fail(pmi, "PMI %s was asked for inside a barrier", what);
    }
    status = send_text(pmi, request);
    if (status == AM_OK) {
        status = read_line(pmi, line, limit_ms(pmi));
    }
    if (status == AM_ERR_AGAIN) {
        return am_pmi_fail(pmi, "the launcher did not answer %s within %llu ms",
                           what, (unsigned long long)pmi->timeout_ms);
    }
    if (status == AM_OK && !am_pmi_answer_ok(line, cmd)) {
        return bad_answer(pmi, what, line);
    }
    return status;
}

static am_status_t ask_maxes(struct am_pmi *pmi, char *line)
{
    am_status_t status;
    char text[32], *end;
    unsigned long long value;

    status = ask(pmi, "get_maxes", "cmd=get_maxes\n", "maxes", line);
    if (status != AM_OK) {
        return status;
    }
    if (!am_pmi_field(line, "vallen_max", text, sizeof(text))) {
        return bad_answer(pmi, "get_maxes", line);
    }
    value = strtoull(text, &end, 10);
    if (end == text || *end != '\0' || value < 2) {
        return bad_answer(pmi, "get_maxes", line);
    }
    pmi->value_bytes =
            value < PMI_VALUE_BYTES_MAX ? (size_t)value : PMI_VALUE_BYTES_MAX;
    return AM_OK;
}

static am_status_t ask_name(struct am_pmi *pmi, char *line)
{
    am_status_t status = ask(pmi, "get_my_kvsname", "cmd=get_my_kvsname\n",
                             "my_kvsname", line);

    if (status == AM_OK &&
        !am_pmi_field(line, "kvsname", pmi->kvsname, sizeof(pmi->kvsname))) {
        return bad_answer(pmi, "get_my_kvsname", line);
    }
    return status;
}

am_status_t am_pmi_attach(struct am_pmi *pmi, int fd, uint32_t rank,
                          uint32_t size, uint64_t timeout_ms)
{
    char line[AM_PMI_LINE_BYTES];
    am_status_t status;

    *pmi = (struct am_pmi){
            .fd = fd, .rank = rank, .size = size, .timeout_ms = timeout_ms};
    /* Programs that this one starts must not speak for it. */
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    status = ask(pmi, "init", "cmd=init pmi_version=1 pmi_subversion=1\n",
                 "response_to_init", line);
    if (status == AM_OK) {
        status = ask_maxes(pmi, line);
    }
    if (status == AM_OK) {
        status = ask_name(pmi, line);
    }
    return status;
}

am_status_t am_pmi_barrier_enter(struct am_pmi *pmi)
{
    am_status_t status;

    if (pmi->broken || pmi->in_barrier) {
        return AM_ERR_SYSTEM;
    }
    if (pmi->fd < 0) {
        return AM_OK;
    }
    status = send_text(pmi, "cmd=barrier_in\n");
    pmi->in_barrier = status == AM_OK;
    return status;
}

am_status_t am_pmi_barrier_test(struct am_pmi *pmi, int timeout_ms)
{
    char line[AM_PMI_LINE_BYTES];
    am_status_t status;

    if (pmi->broken) {
        return AM_ERR_SYSTEM;
    }
    if (!pmi->in_barrier) {
        return AM_OK;
    }
    status = read_line(pmi, line, timeout_ms);
    if (status != AM_OK) {
        return status;
    }
    pmi->in_barrier = false;
    if (!am_pmi_answer_ok(line, "barrier_out")) {
        return bad_answer(pmi, "barrier_in", line);
    }
    return AM_OK;
}

static am_status_t put_blob(struct am_pmi *pmi, const void *mine, size_t bytes,
                            char *line)
{
    char request[AM_PMI_LINE_BYTES + 64];
    int length =
            snprintf(request, sizeof(request),
                     "cmd=put kvsname=%s key=am-%u-%u value=", pmi->kvsname,
                     pmi->sequence, pmi->rank);

    if (2 * bytes + 1 > pmi->value_bytes) {
        return am_pmi_fail(pmi,
                           "the launcher stores values of up to %zu bytes; %zu "
                           "are needed",
                           pmi->value_bytes, 2 * bytes + 1);
    }
    am_pmi_hex_write(mine, bytes, request + length);
    length += (int)(2 * bytes);
    request[length] = '\n';
    request[length + 1] = '\0';
    return ask(pmi, "put", request, "put_result", line);
}

static am_status_t get_blob(struct am_pmi *pmi, uint32_t rank, void *to,
                            size_t bytes, char *line)
{
    char request[AM_PMI_NAME_BYTES + 128], value[PMI_VALUE_BYTES_MAX];
    am_status_t status;

    snprintf(request, sizeof(request), "cmd=get kvsname=%s key=am-%u-%u\n",
             pmi->kvsname, pmi->sequence, rank);
    status = ask(pmi, "get", request, "get_result", line);
    if (status != AM_OK) {
        return status;
    }
    if (!am_pmi_field(line, "value", value, sizeof(value)) ||
        !am_pmi_hex_read(value, to, bytes)) {
        return bad_answer(pmi, "get", line);
    }
    return AM_OK;
}

int am_pmi_allgather(void *arg, const void *mine, void *all, size_t bytes)
{
    struct am_pmi *pmi = arg;
    char line[AM_PMI_LINE_BYTES];
    am_status_t status;

    memcpy((char *)all + pmi->rank * bytes, mine, bytes);
    if (pmi->size == 1) {
        return 0;
    }
    status = put_blob(pmi, mine, bytes, line);
    if (status == AM_OK) {
        status = am_pmi_barrier_enter(pmi);
    }
    if (status == AM_OK) {
        status = am_pmi_barrier_test(pmi, limit_ms(pmi));
    }
    if (status == AM_ERR_AGAIN) {
        status = am_pmi_fail(
                pmi, "not all ranks came within %llu ms (AM_CONNECT_TIMEOUT)",
                (unsigned long long)pmi->timeout_ms);
    }
    for (uint32_t i = 0; i < pmi->size && status >= 0; i++) {
        if (i != pmi->rank) {
            status = get_blob(pmi, i, (char *)all + i * bytes, bytes, line);
        }
    }
    pmi->sequence++;
    return status >= 0 ? 0 : -1;
}

void am_pmi_finalize(struct am_pmi *pmi)
{
    char line[AM_PMI_LINE_BYTES];

    if (pmi->fd < 0) {
        return;
    }
    if (!pmi->broken && !pmi->in_barrier) {
        /* The launcher may be gone already: nothing is left to do then. */
        (void)ask(pmi, "finalize", "cmd=finalize\n", "finalize_ack", line);
    }
    close(pmi->fd);
    pmi->fd = -1;
}

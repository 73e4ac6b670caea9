/*
 * A rank that is killed, over each kind of provider: who waits for it, and who
 * sends to it later, gets an error that names the rank and its address.  And
 * providers that are not there, or are not to be used, in one sentence.
 */
#include "support/cm.h"
#include "support/msg_world.h"
#include "support/process.h"

#include "base/env.h"

#include <am.h>
#include <am_msg.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
    H_PING = AM_HANDLER_USER,
    TAG = 3,
    GETS = 4,
    GET_BYTES = 1 << 20
};

static struct am_option options[] = {{"AM_DEVICES", "ofi"},
                                     {"AM_OFI_PROVIDER", ""},
                                     {"AM_OFI_DOMAIN", ""},
                                     {"AM_OFI_READS", "on"},
                                     {"AM_LOG", "none"}};
static const char *where; /* a part of each address */
static bool gets;         /* one-sided, else messages */
static int gets_ended, gets_failed;

static void on_ping(struct am_token *token, const uint64_t *words,
                    uint32_t count, void *data, size_t bytes)
{
    ((struct rank *)am_token_arg(token))->pings++;
}

/* Is the file still there that the provider shm had of the rank that died? */
static bool file_is_left(const char *death)
{
    const char *name = strstr(death, "fi_shm://");
    char path[128] = "/";

    return name != NULL &&
           sscanf(name, "fi_shm://%100[0-9a-f:-]", path + 1) == 1 &&
           shm_open(path, O_RDONLY, 0) >= 0;
}

/* Each `return` is a step. */
static int survivor(struct rank *me)
{
    const struct am_msg_envelope from = {1, 1, TAG}, to = {1, 0, TAG};
    const struct am_msg_mask mask = MASK_EXACT;
    struct am_data none = am_data_contig(NULL, 0);
    struct ended ended = {0};
    struct am_msg_req *req;

    if (am_msg_irecv(me->ctx, &from, &mask, &none, ended_done, &ended,
                     &ended.status, &ended.req) != AM_OK) {
        return 2;
    }
    rank_meet(me, 0, 2);
    while (ended.count == 0) {
        (void)am_ctx_poll_wait(me->ctx);
    }
    if (ended.status.status != AM_ERR_PEER || ended.status.peer != 1) {
        return 3;
    }
    if (strstr(am_peer_death(me->ctx, 1), "rank 1") == NULL ||
        strstr(am_peer_death(me->ctx, 1), where) == NULL) {
        return 4;
    }
    if (am_msg_isend(me->ctx, 1, &to, &none, 0, NULL, NULL, &req) !=
        AM_ERR_PEER) {
        return 5;
    }
    if (file_is_left(am_peer_death(me->ctx, 1))) {
        return 6;
    }
    am_close(me->ctx);
    return 0;
}

static void got(void *arg, am_status_t status)
{
    gets_ended++;
    gets_failed += status == AM_ERR_PEER;
}

/* Gets of memory whose owner does not poll any more, then dies. */
static int reader(struct rank *me)
{
    static unsigned char memory[GETS][GET_BYTES];
    struct am_data data[GETS];
    struct am_key key;
    int started = 0;

    rank_meet(me, 0, 2);
    memcpy(&key, me->board->blobs[RANKS_MAX - 1], sizeof(key));
    for (; started < GETS; started++) {
        data[started] = am_data_contig(memory[started], GET_BYTES);
        if (am_ctx_rget(me->ctx, 1, &data[started], &key, 0, got, NULL) !=
            AM_OK) {
            return 2;
        }
    }
    while (rank_counter(me, "device_gets") < GETS) {
        (void)am_ctx_poll(me->ctx);
    }
    if (gets_ended != 0) {
        return 3;
    }
    atomic_fetch_add(&me->board->flag[1], 1);
    while (gets_ended < GETS) {
        (void)am_ctx_poll_wait(me->ctx);
    }
    if (gets_failed != GETS) {
        return 4;
    }
    am_close(me->ctx);
    return 0;
}

static void owner(struct rank *me)
{
    static unsigned char memory[GET_BYTES];
    struct am_region *region;
    struct am_key key;

    if (am_region_register(me->ctx, memory, sizeof(memory), &region) != AM_OK) {
        return;
    }
    am_region_key(region, &key);
    memcpy(me->board->blobs[RANKS_MAX - 1], &key, sizeof(key));
    rank_meet(me, 0, 2);
    while (me->board->flag[1] == 0) {
        am_env_relax(am_env_real(), 0); /* and no poll */
    }
}

static int body(struct rank *me)
{
    if (rank_open(me, options, sizeof(options) / sizeof(options[0])) != AM_OK) {
        return 1;
    }
    am_handler_register(me->ctx, H_PING, on_ping, me, "ping");
    while (am_ctx_try_request(me->ctx, 1 - me->rank, H_PING, NULL, 0, NULL,
                              0) != AM_OK ||
           me->pings == 0) {
        (void)am_ctx_poll(me->ctx);
    }
    if (me->rank == 0) {
        return gets ? reader(me) : survivor(me);
    }
    if (gets) {
        owner(me);
    } else {
        rank_meet(me, 0, 2);
    }
    raise(SIGKILL);
    return 0;
}

static void killed(const char *provider, const char *domain, const char *part)
{
    static const int expected[] = {0, -SIGKILL};

    options[1].value = provider;
    options[2].value = domain;
    where = part;
    run_ranks(2, body, expected);
}

static void test_killed_owner(void **state)
{
    gets = true;
    killed("tcp;ofi_rxm", "lo", "127.0.0.1 port ");
    gets = false;
}

static void test_killed_tcp(void **state)
{
    killed("tcp;ofi_rxm", "lo", "127.0.0.1 port ");
}

static void test_killed_shm(void **state)
{
    killed("shm", "", "fi_shm://");
}

static void test_killed_sockets(void **state)
{
    killed("sockets", "lo", "127.0.0.1 port ");
}

static void refused(const char *provider, const char *domain, const char *part)
{
    const struct am_option list[] = {{"AM_DEVICES", "ofi"},
                                     {"AM_OFI_PROVIDER", provider},
                                     {"AM_OFI_DOMAIN", domain}};
    char error[512] = "";
    struct am_params params = {.size = 2,
                               .options = list,
                               .option_count = 3,
                               .error = error,
                               .error_bytes = sizeof(error)};
    struct am_ctx *ctx;

    assert_true(am_open(&params, &ctx) < 0);
    if (strstr(error, part) == NULL) {
        fail_msg("%s", error);
    }
}

static void test_refused(void **state)
{
    refused("nosuch", "", "no provider nosuch");
    refused("tcp;ofi_rxm", "nosuch0", "on the domain nosuch0");
    refused("udp;ofi_rxd", "", "AM_OFI_PROVIDER");
    refused("ofi_rxd", "", "the device udp does that");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_killed_tcp),
            cmocka_unit_test(test_killed_owner),
            cmocka_unit_test(test_killed_shm),
            cmocka_unit_test(test_killed_sockets),
            cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

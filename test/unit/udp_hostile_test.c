/*
 * The udp device among enemies.  Everything between two contexts goes through
 * a relay that keeps what it forwards, and sends the receiver random bytes,
 * datagrams with a byte changed, cut off or added, copies, old ones and those of
 * somebody with the wrong key.  None of that is delivered, each is counted, and
 * what the peer sent arrives as it was.  An argument is the number of rounds.
 */
#include "config.h"

#include "base/prng.h"
#include "dev/udp/udp.h"
#include "support/cm.h"
#include "support/dev_open.h"
#include "support/seed.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ROUNDS = 3000,
    KINDS = 8,
    DATA_MAX = 1200,
    POLLS_MAX = 50000000 /* the kernel is free to be slow */
};

static uint32_t rounds = ROUNDS;

struct node {
    struct am_dev *dev;
    struct am_dev_ep *ep; /* to the other */
    uint64_t stats[AM_DEV_STAT_COUNT];
    uint64_t got, accepted, dead;
    uint64_t hdr[2]; /* of the next packet that is right */
    uint8_t data[DATA_MAX];
    size_t data_bytes;
    char error[256];
    struct am_log log; /* silent */
};

struct relay {
    int fd;
    struct sockaddr_in receiver, sender;
    uint8_t kept[DATA_MAX + 256];
    size_t kept_bytes;
};

struct scene {
    struct node sender, receiver, stranger;
    struct relay relay;
    struct am_prng prng;
    uint64_t injected;
};

/* ------------------------------------------------------------------ upcalls */

static void up_packet(void *user, uint32_t class, const void *hdr,
                      size_t hdr_bytes, void *data, size_t data_bytes)
{
    struct node *node = user;

    assert_int_equal(class, AM_DEV_REQUEST);
    assert_int_equal(hdr_bytes, sizeof(node->hdr));
    assert_memory_equal(hdr, node->hdr, sizeof(node->hdr));
    assert_int_equal(data_bytes, node->data_bytes);
    assert_memory_equal(data, node->data, data_bytes);
    node->got++;
}

static void *up_accept(void *arg, struct am_dev_ep *ep, uint32_t rank)
{
    struct node *node = arg;

    assert_int_equal(rank, UINT32_MAX);
    node->accepted++;
    node->ep = ep;
    return node;
}

static void up_dead(void *user, const char *why)
{
    ((struct node *)user)->dead++;
}

/* -------------------------------------------------------------------- scene */

static void node_open(struct node *node, uint64_t nonce, const char *auth)
{
    const struct am_option options[] = {{"AM_UDP_IF", "lo"},
                                        {"AM_UDP_AUTH", auth},
                                        {"AM_RELIABILITY", "none"}};
    struct am_dev_params params = {
            .env = am_env_real(),
            .log = &node->log,
            .size = 1,
            .nonce = nonce,
            .up = {node, up_packet, NULL, up_accept, up_dead},
            .stats = node->stats,
            .error = node->error,
            .error_bytes = sizeof(node->error)};

    if (dev_open_options(&am_udp_ops, &params, options, 3, &node->dev) !=
        AM_OK) {
        fail_msg("%s", node->error);
    }
}

static struct udp_address address_of(const struct node *node)
{
    struct udp_address address;

    assert_int_equal(node->dev->ops->address(node->dev, &address,
                                             sizeof(address)),
                     udp_address_bytes(4));
    return address;
}

static struct sockaddr_in local_port(uint16_t port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = port,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void scene_open(struct scene *scene, const char *auth)
{
    uint64_t nonce = am_env_random(am_env_real());
    struct sockaddr_in bound = local_port(0);
    socklen_t bytes = sizeof(bound);
    struct udp_address address;

    node_open(&scene->sender, nonce, auth);
    node_open(&scene->receiver, nonce + 1, auth);
    node_open(&scene->stranger, nonce + 2, auth);
    scene->relay.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(scene->relay.fd >= 0);
    assert_int_equal(bind(scene->relay.fd, (struct sockaddr *)&bound, bytes),
                     0);
    assert_int_equal(
            getsockname(scene->relay.fd, (struct sockaddr *)&bound, &bytes), 0);
    scene->relay.sender = local_port(address_of(&scene->sender).port);
    address = address_of(&scene->receiver);
    scene->relay.receiver = local_port(address.port);
    address.port = bound.sin_port;
    assert_int_equal(scene->sender.dev->ops->connect(
                             scene->sender.dev, &address, udp_address_bytes(4),
                             UINT32_MAX, &scene->sender, &scene->sender.ep),
                     AM_OK);
    /* knows where the receiver is, but not its key, nor its number */
    address = address_of(&scene->receiver);
    address.key[5] ^= 1;
    address.nonce ^= UINT64_C(1) << 40;
    assert_int_equal(scene->stranger.dev->ops->connect(
                             scene->stranger.dev, &address, udp_address_bytes(4),
                             UINT32_MAX, &scene->stranger, &scene->stranger.ep),
                     AM_OK);
}

static void scene_close(struct scene *scene)
{
    scene->sender.dev->ops->close(scene->sender.dev);
    scene->receiver.dev->ops->close(scene->receiver.dev);
    scene->stranger.dev->ops->close(scene->stranger.dev);
    close(scene->relay.fd);
}

/* ------------------------------------------------------------------ packets */

static uint64_t dropped(const struct node *node)
{
    return node->stats[AM_DEV_STAT_RX_BAD] +
           node->stats[AM_DEV_STAT_RX_FOREIGN] +
           node->stats[AM_DEV_STAT_RX_STALE] +
           node->stats[AM_DEV_STAT_RX_REPLAYED];
}

/* The receiver polls until it has got, and dropped, what it has to. */
static void receive(struct scene *scene, uint64_t got)
{
    struct node *node = &scene->receiver;

    for (int i = 0; node->got < got || dropped(node) < scene->injected; i++) {
        assert_true(i < POLLS_MAX);
        if (node->dev->ops->poll(node->dev, 64) == 0) {
            am_env_relax(am_env_real(), 0);
        }
    }
    assert_int_equal(node->got, got);
    assert_int_equal(dropped(node), scene->injected);
}

/* To the receiver, as it is. */
static void forward(struct scene *scene, const void *bytes, size_t length)
{
    struct relay *relay = &scene->relay;

    assert_int_equal(sendto(relay->fd, bytes, length, 0,
                            (struct sockaddr *)&relay->receiver,
                            sizeof(relay->receiver)),
                     (ssize_t)length);
}

static void inject(struct scene *scene, const void *bytes, size_t length)
{
    forward(scene, bytes, length);
    scene->injected++;
}

/* The sender's next packet, kept by the relay but not forwarded. */
static void send_one(struct scene *scene)
{
    struct node *sender = &scene->sender, *receiver = &scene->receiver;
    struct relay *relay = &scene->relay;
    struct pollfd look = {.fd = relay->fd, .events = POLLIN};
    ssize_t bytes;

    receiver->data_bytes = am_prng_below(&scene->prng, DATA_MAX);
    receiver->hdr[0] = am_prng_next(&scene->prng);
    for (size_t i = 0; i < receiver->data_bytes; i++) {
        receiver->data[i] = (uint8_t)am_prng_next(&scene->prng);
    }
    assert_int_equal(sender->dev->ops->send(sender->ep, AM_DEV_REQUEST,
                                            receiver->hdr,
                                            sizeof(receiver->hdr),
                                            receiver->data,
                                            receiver->data_bytes),
                     AM_OK);
    assert_int_equal(poll(&look, 1, -1), 1);
    bytes = recv(relay->fd, relay->kept, sizeof(relay->kept), 0);
    assert_true(bytes > 0);
    relay->kept_bytes = (size_t)bytes;
}

/* One byte is another. */
static void inject_changed(struct scene *scene)
{
    uint8_t bytes[sizeof(scene->relay.kept)];
    size_t at = am_prng_below(&scene->prng, (uint32_t)scene->relay.kept_bytes);

    memcpy(bytes, scene->relay.kept, scene->relay.kept_bytes);
    bytes[at] ^= (uint8_t)(1 + am_prng_below(&scene->prng, 255));
    inject(scene, bytes, scene->relay.kept_bytes);
}

static void inject_random(struct scene *scene)
{
    uint8_t bytes[DATA_MAX];
    size_t length = am_prng_below(&scene->prng, DATA_MAX);

    for (size_t i = 0; i < length; i++) {
        bytes[i] = (uint8_t)am_prng_next(&scene->prng);
    }
    inject(scene, bytes, length);
}

static void inject_longer(struct scene *scene)
{
    uint8_t bytes[sizeof(scene->relay.kept) + 1];

    memcpy(bytes, scene->relay.kept, scene->relay.kept_bytes);
    bytes[scene->relay.kept_bytes] = 0;
    inject(scene, bytes, scene->relay.kept_bytes + 1);
}

static void inject_stranger(struct scene *scene)
{
    struct node *stranger = &scene->stranger;
    uint64_t hdr[2] = {1, 2};

    assert_int_equal(stranger->dev->ops->send(stranger->ep, AM_DEV_REQUEST, hdr,
                                              sizeof(hdr), NULL, 0),
                     AM_OK);
    scene->injected++;
}

/* Something that is not the packet that was kept, which has not come yet. */
static void inject_any(struct scene *scene)
{
    switch (am_prng_below(&scene->prng, 5)) {
    case 0:
        inject_changed(scene);
        break;
    case 1:
        inject(scene, scene->relay.kept,
               am_prng_below(&scene->prng, (uint32_t)scene->relay.kept_bytes));
        break;
    case 2:
        inject_longer(scene);
        break;
    case 3:
        inject_stranger(scene);
        break;
    default:
        inject_random(scene);
        break;
    }
}

/* -------------------------------------------------------------------- tests */

static void test_changed(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    scene->prng = test_prng("udp_hostile");
    scene_open(scene, "on");
    for (uint32_t i = 0; i < rounds; i++) {
        send_one(scene);
        for (int k = 0; k < KINDS; k++) {
            inject_any(scene);
        }
        receive(scene, i); /* nothing of that */
        forward(scene, scene->relay.kept, scene->relay.kept_bytes);
        receive(scene, i + 1);
        inject(scene, scene->relay.kept, scene->relay.kept_bytes);
        receive(scene, i + 1); /* not twice */
    }
    assert_int_equal(scene->receiver.accepted, 1);
    assert_int_equal(scene->receiver.dead, 0);
    assert_int_equal(scene->receiver.stats[AM_DEV_STAT_RX_REPLAYED], rounds);
    assert_true(scene->receiver.stats[AM_DEV_STAT_RX_BAD] > 0);
    assert_true(scene->receiver.stats[AM_DEV_STAT_RX_FOREIGN] > 0);
    scene_close(scene);
    free(scene);
}

/* A packet that is held back is taken while others overtake it, once; not when
 * so many have that nobody remembers whether it came. */
static void test_late(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct relay first;
    struct node like; /* what the first packet has to be */
    uint64_t got = 0;

    scene->prng = test_prng("udp_hostile");
    scene_open(scene, "on");
    for (uint32_t behind = UDP_REPLAY_PACKETS - 1;
         behind <= UDP_REPLAY_PACKETS; behind++) {
        bool taken = behind < UDP_REPLAY_PACKETS;

        send_one(scene);
        first = scene->relay;
        like = scene->receiver;
        for (uint32_t i = 0; i < behind; i++) {
            send_one(scene);
            forward(scene, scene->relay.kept, scene->relay.kept_bytes);
            receive(scene, ++got);
        }
        memcpy(scene->receiver.hdr, like.hdr, sizeof(like.hdr));
        memcpy(scene->receiver.data, like.data, sizeof(like.data));
        scene->receiver.data_bytes = like.data_bytes;
        forward(scene, first.kept, first.kept_bytes);
        got += taken;
        scene->injected += !taken;
        receive(scene, got);
        inject(scene, first.kept, first.kept_bytes);
        receive(scene, got);
    }
    assert_int_equal(scene->receiver.stats[AM_DEV_STAT_RX_REPLAYED], 1);
    assert_int_equal(scene->receiver.stats[AM_DEV_STAT_RX_STALE], 2);
    scene_close(scene);
    free(scene);
}

/* Without authentication what does not know the receiver's number stays out. */
static void test_plain(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    scene->prng = test_prng("udp_hostile");
    scene_open(scene, "off");
    for (uint32_t i = 0; i < rounds; i++) {
        send_one(scene);
        for (int k = 0; k < KINDS; k++) {
            inject_random(scene);
            inject_stranger(scene);
        }
        receive(scene, i);
        forward(scene, scene->relay.kept, scene->relay.kept_bytes);
        receive(scene, i + 1);
    }
    scene_close(scene);
    free(scene);
}

/* A connection that is over does not come back by a copy of its packets. */
static void test_over(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    scene->prng = test_prng("udp_hostile");
    scene_open(scene, "on");
    send_one(scene);
    forward(scene, scene->relay.kept, scene->relay.kept_bytes);
    receive(scene, 1);
    scene->receiver.dev->ops->disconnect(scene->receiver.ep);
    inject(scene, scene->relay.kept, scene->relay.kept_bytes); /* a copy */
    receive(scene, 1);
    send_one(scene);
    inject(scene, scene->relay.kept, scene->relay.kept_bytes); /* a new one */
    receive(scene, 1);
    assert_int_equal(scene->receiver.accepted, 1);
    assert_int_equal(scene->receiver.stats[AM_DEV_STAT_RX_REPLAYED], 1);
    assert_int_equal(scene->receiver.stats[AM_DEV_STAT_RX_STALE], 1);
    scene_close(scene);
    free(scene);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_changed),
            cmocka_unit_test(test_late),
            cmocka_unit_test(test_plain),
            cmocka_unit_test(test_over),
    };

    if (argc > 1) {
        rounds = (uint32_t)strtoul(argv[1], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

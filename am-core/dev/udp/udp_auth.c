/*
 * Keys, macs and replays; what they are good for stands in udp.h.  The one file
 * that calls libsodium.
 */
#include "config.h"

#include "dev/udp/udp.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

AM_STATIC_ASSERT(crypto_shorthash_BYTES == sizeof(uint64_t), "a mac");
AM_STATIC_ASSERT(crypto_shorthash_KEYBYTES == UDP_KEY_BYTES, "its key");
AM_STATIC_ASSERT(crypto_generichash_KEYBYTES_MIN <= UDP_KEY_BYTES &&
                         crypto_generichash_BYTES_MIN <= UDP_KEY_BYTES,
                 "a derived key");

bool udp_key_parse(const char *text, struct udp_key *key)
{
    size_t bytes;

    return strlen(text) == 2 * sizeof(key->bytes) &&
           sodium_hex2bin(key->bytes, sizeof(key->bytes), text, strlen(text),
                          NULL, &bytes, NULL) == 0 &&
           bytes == sizeof(key->bytes);
}

/* A key that follows from another and from what it is for. */
static void key_make(const struct udp_key *key, const void *of, size_t bytes,
                     uint8_t *to)
{
    (void)crypto_generichash(to, UDP_KEY_BYTES, of, bytes, key->bytes,
                             sizeof(key->bytes));
}

void udp_key_derive(const struct udp_key *key, uint64_t from, uint64_t to,
                    uint32_t conn, uint8_t flags, struct udp_key *derived)
{
    const uint64_t of[] = {from, to, (uint64_t)conn << 8 | flags};

    key_make(key, of, sizeof(of), derived->bytes);
}

am_status_t udp_auth_open(struct udp_dev *dev, char *error, size_t error_bytes)
{
    static const char fingerprint[] = "fingerprint";
    struct udp_key shared;

    if (sodium_init() < 0) {
        snprintf(error, error_bytes, "udp: libsodium does not start");
        return AM_ERR_SYSTEM;
    }
    dev->me.flags = dev->config.auth ? UDP_ADDRESS_AUTH : 0;
    if (dev->config.key[0] == '\0') {
        /* From the system's generator for keys: am_env_random is for numbers
         * that may be guessed, and this device is never simulated. */
        randombytes_buf(dev->key.bytes, sizeof(dev->key.bytes));
        memcpy(dev->me.key, dev->key.bytes, sizeof(dev->me.key));
        return AM_OK;
    }
    (void)udp_key_parse(dev->config.key, &shared); /* the table checked it */
    dev->me.flags |= UDP_ADDRESS_SHARED;
    key_make(&shared, &dev->nonce, sizeof(dev->nonce), dev->key.bytes);
    key_make(&shared, fingerprint, sizeof(fingerprint), dev->me.key);
    sodium_memzero(&shared, sizeof(shared));
    return AM_OK;
}

void udp_key_of(const struct udp_dev *dev, const struct udp_address *address,
                struct udp_key *key)
{
    struct udp_key shared;

    if ((address->flags & UDP_ADDRESS_SHARED) == 0) {
        memcpy(key->bytes, address->key, sizeof(key->bytes));
        return;
    }
    (void)udp_key_parse(dev->config.key, &shared);
    key_make(&shared, &address->nonce, sizeof(address->nonce), key->bytes);
    sodium_memzero(&shared, sizeof(shared));
}

void udp_auth_close(struct udp_dev *dev)
{
    sodium_memzero(&dev->key, sizeof(dev->key));
    sodium_memzero(&dev->me, sizeof(dev->me));
    sodium_memzero(dev->config.key, sizeof(dev->config.key));
}

uint64_t udp_mac(const struct udp_dev *dev, const struct udp_key *key,
                 uint64_t to, const void *datagram, size_t bytes)
{
    const size_t skip = offsetof(struct udp_hdr, number);
    uint64_t mac;

    if (!dev->config.auth) {
        return to;
    }
    (void)crypto_shorthash((uint8_t *)&mac, (const uint8_t *)datagram + skip,
                           bytes - skip, key->bytes);
    return mac;
}

/* Numbers from replay->next on have not come; make `number` the last that has. */
static void replay_advance(struct udp_replay *replay, uint64_t number)
{
    if (number - replay->next >= UDP_REPLAY_PACKETS) {
        memset(replay->seen, 0, sizeof(replay->seen));
        replay->next = number;
    }
    for (; replay->next <= number; replay->next++) {
        uint64_t bit = replay->next % UDP_REPLAY_PACKETS;

        replay->seen[bit / 64] &= ~(UINT64_C(1) << bit % 64);
    }
}

bool udp_replay_is_new(struct udp_replay *replay, uint64_t number, bool *old_p)
{
    uint64_t bit = number % UDP_REPLAY_PACKETS;
    uint64_t mask = UINT64_C(1) << bit % 64;

    *old_p = number < replay->next &&
             replay->next - number > UDP_REPLAY_PACKETS;
    if (*old_p || number == UINT64_MAX) {
        return false;
    }
    if (number >= replay->next) {
        replay_advance(replay, number);
    }
    if ((replay->seen[bit / 64] & mask) != 0) {
        return false;
    }
    replay->seen[bit / 64] |= mask;
    return true;
}

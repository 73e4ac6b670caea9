/*
 * Which interface: the one that AM_UDP_IF names, or the one the route to the
 * world takes; its address and the largest datagram that it carries whole.
 */
#include "config.h"

#include "dev/udp/udp.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A network in CIDR notation; one address is a network of all its bits. */
struct cidr {
    int family;
    uint8_t ip[16];
    uint32_t bits;
};

static uint32_t family_bits(int family)
{
    return family == AF_INET ? 32 : 128;
}

static bool cidr_parse(const char *text, struct cidr *cidr)
{
    char ip[INET6_ADDRSTRLEN];
    const char *slash = strchr(text, '/');
    size_t length = slash == NULL ? strlen(text) : (size_t)(slash - text);
    unsigned long bits;
    char *end;

    if (length >= sizeof(ip)) {
        return false;
    }
    memcpy(ip, text, length);
    ip[length] = '\0';
    cidr->family = strchr(ip, ':') != NULL ? AF_INET6 : AF_INET;
    if (inet_pton(cidr->family, ip, cidr->ip) != 1) {
        return false;
    }
    cidr->bits = family_bits(cidr->family);
    if (slash == NULL) {
        return true;
    }
    bits = strtoul(slash + 1, &end, 10);
    if (slash[1] < '0' || slash[1] > '9' || *end != '\0' ||
        bits > cidr->bits) {
        return false;
    }
    cidr->bits = (uint32_t)bits;
    return true;
}

/* Letters, digits and what else a name of an interface has. */
bool udp_if_is_sound(const char *spec)
{
    struct cidr cidr;

    return spec[0] == '\0' || cidr_parse(spec, &cidr) ||
           (strlen(spec) < IF_NAMESIZE && strchr(spec, '/') == NULL &&
            strchr(spec, ' ') == NULL);
}

static const uint8_t *ip_of(const union udp_sockaddr *address)
{
    return address->any.sa_family == AF_INET
                   ? (const uint8_t *)&address->v4.sin_addr
                   : address->v6.sin6_addr.s6_addr;
}

static bool cidr_has(const struct cidr *cidr, const union udp_sockaddr *address)
{
    const uint8_t *ip = ip_of(address);

    if (address->any.sa_family != cidr->family) {
        return false;
    }
    for (uint32_t bit = 0; bit < cidr->bits; bit++) {
        if (((ip[bit / 8] ^ cidr->ip[bit / 8]) >> (7 - bit % 8) & 1) != 0) {
            return false;
        }
    }
    return true;
}

bool udp_is_loopback(const union udp_sockaddr *address)
{
    return address->any.sa_family == AF_INET
                   ? ip_of(address)[0] == 127
                   : IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

const char *udp_address_text(const union udp_sockaddr *address, char *text,
                             size_t bytes)
{
    char ip[INET6_ADDRSTRLEN] = "?";

    (void)inet_ntop(address->any.sa_family, ip_of(address), ip, sizeof(ip));
    snprintf(text, bytes, "%s port %u", ip,
             ntohs(address->any.sa_family == AF_INET
                           ? address->v4.sin_port
                           : address->v6.sin6_port));
    return text;
}

/* Where a packet to the world would leave; nothing is sent.  The address is of
 * a network that is kept for examples (RFC 5737), which no host has. */
static bool route_address(union udp_sockaddr *address)
{
    struct sockaddr_in world = {.sin_family = AF_INET,
                                .sin_port = htons(9),
                                .sin_addr.s_addr = htonl(0xc6336401)};
    socklen_t bytes = sizeof(*address);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool found = fd >= 0 &&
                 connect(fd, (struct sockaddr *)&world, sizeof(world)) == 0 &&
                 getsockname(fd, &address->any, &bytes) == 0;

    if (fd >= 0) {
        close(fd);
    }
    return found;
}

static bool take(const struct ifaddrs *at, union udp_sockaddr *address)
{
    if (at->ifa_addr == NULL || (at->ifa_flags & IFF_UP) == 0) {
        return false;
    }
    memset(address, 0, sizeof(*address));
    if (at->ifa_addr->sa_family == AF_INET) {
        memcpy(&address->v4, at->ifa_addr, sizeof(address->v4));
        return true;
    }
    if (at->ifa_addr->sa_family == AF_INET6) {
        memcpy(&address->v6, at->ifa_addr, sizeof(address->v6));
        /* good on one link only, which the peer may know by another number */
        return !IN6_IS_ADDR_LINKLOCAL(&address->v6.sin6_addr);
    }
    return false;
}

/* How well an address of this interface does: 0 is not at all. */
static int rank_of(const char *spec, const struct ifaddrs *at,
                   const union udp_sockaddr *address,
                   const union udp_sockaddr *route)
{
    bool v4 = address->any.sa_family == AF_INET;
    struct cidr cidr;

    if (spec[0] != '\0') {
        bool named = strcmp(at->ifa_name, spec) == 0 ||
                     (cidr_parse(spec, &cidr) && cidr_has(&cidr, address));

        return named ? 1 + v4 : 0;
    }
    if (route != NULL && v4 &&
        address->v4.sin_addr.s_addr == route->v4.sin_addr.s_addr) {
        return 5;
    }
    return 1 + v4 + 2 * !udp_is_loopback(address);
}

static size_t mtu_of(const char *name)
{
    struct ifreq request = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int got;

    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    got = fd < 0 ? -1 : ioctl(fd, SIOCGIFMTU, &request);
    if (fd >= 0) {
        close(fd);
    }
    return got != 0 || request.ifr_mtu < 576 ? 576 : (size_t)request.ifr_mtu;
}

am_status_t udp_if_find(const char *spec, struct udp_if *found, char *error,
                        size_t error_bytes)
{
    union udp_sockaddr route, address;
    bool routed = spec[0] == '\0' && route_address(&route);
    struct ifaddrs *all;
    int best = 0;

    if (getifaddrs(&all) != 0) {
        snprintf(error, error_bytes, "udp: cannot list the interfaces: %m");
        return AM_ERR_SYSTEM;
    }
    for (const struct ifaddrs *at = all; at != NULL; at = at->ifa_next) {
        int rank = take(at, &address)
                           ? rank_of(spec, at, &address, routed ? &route : NULL)
                           : 0;

        if (rank > best) {
            best = rank;
            found->address = address;
            snprintf(found->name, sizeof(found->name), "%s", at->ifa_name);
        }
    }
    freeifaddrs(all);
    if (best == 0 && spec[0] == '\0') {
        snprintf(error, error_bytes, "udp: no interface is up");
        return AM_ERR_SYSTEM;
    }
    if (best == 0) {
        snprintf(error, error_bytes,
                 "AM_UDP_IF is %s, but no interface that is up has that name, "
                 "or an address of that network",
                 spec);
        return AM_ERR_CONFIG;
    }
    found->address_bytes = found->address.any.sa_family == AF_INET
                                   ? sizeof(found->address.v4)
                                   : sizeof(found->address.v6);
    found->mtu_bytes = mtu_of(found->name);
    return AM_OK;
}

/*
 * A profile: what copies and short packets cost on one machine, as am_tune has
 * measured it, in a text file by libconfig.
 *
 *   version = 1;
 *   measured = "2026-11-22 16:20:00 UTC";
 *   host = "node17";
 *   processor = "AuthenticAMD 25 17 1 AMD EPYC";
 *   cpus = 2;
 *   shm = (
 *     { distance = "cache"; cores = "0,1";
 *       send_ps = 15000; recv_ps = 15000; wire_ps = 55000; gap_ps = 15000;
 *       single_ps = 700000;
 *       one_way   = { copy_in_fs = 18000; copy_out_fs = 21000; single_fs = 85000; };
 *       both_ways = { copy_in_fs = 30000; copy_out_fs = 33000; single_fs = 90000; };
 *       faster = {
 *         answered  = [ "single", "stream", "stream", ... ];
 *         in_a_row  = [ "stream", "stream", "single", ... ];
 *         both_ways = [ "stream", "single", "single", ... ]; }; }
 *   );
 *
 * `processor` and `cpus` say where it fits.  Each distance (core, cache, node,
 * far) stands at most once; those that are not there keep what is built in.
 * Numbers that single copies have are left out where there are none, and so is `faster`:
 * by which messages of 8 KiB, 16 KiB and so on went faster (dev/faster.h).
 */
#ifndef AM_DEV_PROFILE_H
#define AM_DEV_PROFILE_H

#include "dev/faster.h"

#define AM_PROFILE_VERSION 1
#define AM_PROFILE_TEXT    128

/* One distance; 0: that number is not known. */
struct am_profile_row {
    bool given;
    uint64_t send_ps, recv_ps, wire_ps, gap_ps, single_ps;
    uint64_t byte_fs[AM_WAYS_COUNT][AM_COPY_COUNT];
    char cores[AM_PROFILE_TEXT];
    bool compared; /* a stream and a single copy: */
    struct am_faster faster;
};

struct am_profile {
    char measured[AM_PROFILE_TEXT], host[AM_PROFILE_TEXT];
    char processor[AM_PROFILE_TEXT];
    uint64_t cpus;
    struct am_profile_row shm[AM_DISTANCE_COUNT];
};

/* Read and check the file.  AM_ERR_CONFIG: `error` says in a sentence what is
 * wrong with it; AM_ERR_SYSTEM: it cannot be read, and errno says why, or is 0 when it
 * is no regular file. */
am_status_t am_profile_read(const char *path, struct am_profile *profile,
                            char *error, size_t error_bytes);
/* Write it as am_profile_read takes it; false: errno says why not, and a file that was
 * there still is. */
bool am_profile_write(const char *path, const struct am_profile *profile);

/* What this machine calls its processor, and how many CPUs it has. */
void am_profile_machine(char *processor, size_t bytes, uint64_t *cpus_p);
/* Was it measured on such a machine as this? */
bool am_profile_fits(const struct am_profile *profile);

/* Let a meter, just initialised, begin with the row of its distance, which stays. */
void am_profile_apply(const struct am_profile_row *row, struct am_meter *meter);

#endif

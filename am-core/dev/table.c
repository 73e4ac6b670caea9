/*
 * The devices of this build.  In a file of its own, so that a test may link a
 * table of its own in its place.
 */
#include "config.h"

#include "dev/dev.h"
#include "dev/self/self.h"
#include "dev/shm/shm.h"
#ifdef AM_UDP
#include "dev/udp/udp.h"
#endif
#ifdef AM_OFI
#include "dev/ofi/ofi.h"
#endif
#ifdef AM_SIM
#include "dev/snic/snic.h"
#endif

/* clang-format off */
const struct am_dev_ops *const am_dev_table[] = {
        &am_dev_self_ops,
        &am_shm_ops,
#ifdef AM_UDP
        &am_udp_ops,
#endif
#ifdef AM_OFI
        &am_ofi_ops,
#endif
#ifdef AM_SIM
        &am_dev_snic_ops,
#endif
        NULL};
/* clang-format on */

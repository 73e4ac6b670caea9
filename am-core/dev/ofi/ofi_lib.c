/*
 * Loads libfabric.  It stays loaded: its providers have threads and destructors
 * of their own.
 */
#include "config.h"

#include "dev/ofi/ofi.h"

#include <dlfcn.h>
#include <stdio.h>

#define LIB_NAME "libfabric.so.1"

am_status_t ofi_lib_load(struct ofi_lib *lib, char *error, size_t error_bytes)
{
    const struct {
        const char *name;
        void **to;
    } wanted[] = {
            {"fi_getinfo", (void **)&lib->getinfo},
            {"fi_freeinfo", (void **)&lib->freeinfo},
            {"fi_dupinfo", (void **)&lib->dupinfo},
            {"fi_fabric", (void **)&lib->fabric},
            {"fi_version", (void **)&lib->version},
            {"fi_strerror", (void **)&lib->strerror},
    };
    void *handle;

    /* read by the first call, if nobody in the process was before: ofi_alive.c */
    am_config_setenv("FI_AV_REMOVE_CLEANUP", "1");
    handle = dlopen(LIB_NAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) {
        snprintf(error, error_bytes,
                 "ofi: libfabric is not installed here (Debian: libfabric1): "
                 "%s",
                 dlerror());
        return AM_ERR_UNSUPPORTED;
    }
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        *wanted[i].to = dlsym(handle, wanted[i].name);
        if (*wanted[i].to == NULL) {
            snprintf(error, error_bytes, "ofi: " LIB_NAME " has no %s",
                     wanted[i].name);
            dlclose(handle);
            return AM_ERR_UNSUPPORTED;
        }
    }
    dlclose(handle); /* the count; RTLD_NODELETE keeps it */
    if (lib->version() < FI_VERSION(1, 17)) {
        snprintf(error, error_bytes,
                 "ofi: libfabric %u.%u is here, and 1.17 or later is needed",
                 FI_MAJOR(lib->version()), FI_MINOR(lib->version()));
        return AM_ERR_UNSUPPORTED;
    }
    return AM_OK;
}

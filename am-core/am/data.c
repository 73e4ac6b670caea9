/*
 * am_data: reading and writing byte ranges of contiguous data, iovecs, and
 * data that is packed and unpacked by functions of its owner.
 */
#include "config.h"

#include "am/core.h"
#include "base/copy.h"

#include <string.h>

/* Copy a range of an iov; `out` copies from the iov to the flat side. */
static void iov_copy(const struct am_data *data, size_t offset, char *flat,
                     size_t bytes, bool out)
{
    for (uint32_t i = 0; i < data->iov_count && bytes > 0; i++) {
        const struct iovec *piece = &data->u.iov[i];
        char *base = piece->iov_base;
        size_t length;

        if (offset >= piece->iov_len) {
            offset -= piece->iov_len;
            continue;
        }
        length = piece->iov_len - offset;
        if (length > bytes) {
            length = bytes;
        }
        if (out) {
            am_copy(flat, base + offset, length);
        } else {
            am_copy(base + offset, flat, length);
        }
        flat += length;
        bytes -= length;
        offset = 0;
    }
}

void am_data_read(const struct am_data *data, size_t offset, void *to,
                  size_t bytes)
{
    if (bytes == 0) {
        return;
    }
    switch (data->kind) {
    case AM_DATA_CONTIG:
        am_copy(to, (const char *)data->u.base + offset, bytes);
        break;
    case AM_DATA_IOV:
        iov_copy(data, offset, to, bytes, true);
        break;
    case AM_DATA_PACK:
        data->pack(data->u.arg, offset, to, bytes);
        break;
    }
}

void am_data_write(const struct am_data *data, size_t offset, const void *from,
                   size_t bytes, bool near)
{
    if (bytes == 0) {
        return;
    }
    switch (data->kind) {
    case AM_DATA_CONTIG:
        if (near) {
            am_copy_far((char *)data->u.base + offset, from, bytes, true);
        } else {
            am_copy((char *)data->u.base + offset, from, bytes);
        }
        break;
    case AM_DATA_IOV:
        iov_copy(data, offset, (char *)(uintptr_t)from, bytes, false);
        break;
    case AM_DATA_PACK:
        data->unpack(data->u.arg, offset, from, bytes);
        break;
    }
}

void *am_data_at(const struct am_data *data, size_t offset, size_t bytes)
{
    if (data->kind == AM_DATA_CONTIG) {
        return (char *)data->u.base + offset;
    }
    for (uint32_t i = 0; data->kind == AM_DATA_IOV && i < data->iov_count;
         i++) {
        const struct iovec *piece = &data->u.iov[i];

        if (offset < piece->iov_len) {
            return bytes <= piece->iov_len - offset
                           ? (char *)piece->iov_base + offset
                           : NULL;
        }
        offset -= piece->iov_len;
    }
    return NULL;
}

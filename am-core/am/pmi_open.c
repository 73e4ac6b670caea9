/*
 * The job that the environment names: PMI_FD, PMI_RANK and PMI_SIZE.  May call
 * base/config for the environment; everything that it says is checked.
 */
#include "am/pmi.h"

#include "base/config.h"
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#define SHOWN_BYTES 41 /* of a bad value in its sentence */

/* A decimal number of the environment, 0..max. */
static am_status_t env_number(struct am_pmi *pmi, const char *name,
                              unsigned long max, unsigned long *value_p)
{
    const char *text = am_config_getenv(name);
    char *end, shown[SHOWN_BYTES];
    unsigned long value;

    if (text == NULL) {
        return am_pmi_fail(
                pmi,
                "%s is not set although other PMI variables are; start "
                "the program with Hydra's mpiexec",
                name);
    }
    errno = 0;
    value = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || *text == '-' || errno != 0 ||
        value > max) {
        am_text_show(text, shown, sizeof(shown));
        return am_pmi_fail(pmi, "%s is \"%s\"; expected a number of 0 to %lu",
                           name, shown, max);
    }
    *value_p = value;
    return AM_OK;
}

/* A program that a rank starts finds the rank's PMI_FD in its environment, but
 * not the connection: the number may be that of its user's file by now. */
static am_status_t check_fd(struct am_pmi *pmi, unsigned long fd)
{
    struct stat about;

    if (fstat((int)fd, &about) == 0 &&
        (S_ISSOCK(about.st_mode) || S_ISFIFO(about.st_mode))) {
        return AM_OK;
    }
    return am_pmi_fail(
            pmi,
            "PMI_FD is %lu, which is not open to a launcher (no socket and "
            "no pipe); a program that a rank of a job starts needs an "
            "environment without PMI_FD, PMI_RANK and PMI_SIZE",
            fd);
}

am_status_t am_pmi_open(struct am_pmi *pmi, uint64_t timeout_ms)
{
    unsigned long fd = 0, rank = 0, size = 0;
    am_status_t status;

    *pmi = (struct am_pmi){.fd = -1, .size = 1};
    if (am_config_getenv("PMI_FD") == NULL &&
        am_config_getenv("PMI_RANK") == NULL &&
        am_config_getenv("PMI_SIZE") == NULL) {
        return AM_OK;
    }
    if (am_config_getenv("PMI_FD") == NULL &&
        am_config_getenv("PMI_PORT") != NULL) {
        return am_pmi_fail(pmi,
                           "PMI_PORT is set but PMI_FD is not: a launcher that "
                           "is reached by a port is not supported; use Hydra's "
                           "mpiexec without -pmi-port");
    }
    status = env_number(pmi, "PMI_SIZE", 1u << 24, &size);
    if (status == AM_OK && size == 0) {
        status = am_pmi_fail(pmi, "PMI_SIZE is 0; expected at least 1");
    }
    if (status == AM_OK) {
        status = env_number(pmi, "PMI_RANK", size - 1, &rank);
    }
    if (status == AM_OK) {
        status = env_number(pmi, "PMI_FD", INT_MAX, &fd);
    }
    if (status == AM_OK) {
        status = check_fd(pmi, fd);
    }
    if (status != AM_OK) {
        return status;
    }
    return am_pmi_attach(pmi, (int)fd, (uint32_t)rank, (uint32_t)size,
                         timeout_ms);
}

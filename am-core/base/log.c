/*
 * Log: parses AM_LOG, opens its file, writes whole lines.  A line goes out in
 * one write, so ranks that share a file or a terminal do not mix their lines.
 * Calls base/text and libc only.
 */
#include <config.h>

#include "base/log.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_LINE_BYTES 1024
#define LOG_PATH_BYTES 4096
#define SHOWN_BYTES    65  /* of a bad value in its sentence, ... */
#define SHOWN_PATH     513 /* ... and of a name of a file */

static const char *const level_names[] = {"none",  "error", "warn", "info",
                                          "debug", "trace", "data"};

#define LEVEL_COUNT (sizeof(level_names) / sizeof(level_names[0]))

/* The level named by text[0..length), or -1. */
static int level_find(const char *text, size_t length)
{
    for (size_t i = 0; i < LEVEL_COUNT; i++) {
        if (strlen(level_names[i]) == length &&
            strncasecmp(level_names[i], text, length) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* Copy `path` with %r replaced by the rank.  False if it does not fit. */
static bool path_expand(const char *path, uint32_t rank, char *to, size_t bytes)
{
    size_t used = 0;

    while (*path != '\0') {
        char piece[16] = {*path, '\0'};
        size_t length;

        if (path[0] == '%' && path[1] == 'r') {
            snprintf(piece, sizeof(piece), "%u", rank);
            path++;
        }
        path++;
        length = strlen(piece);
        if (used + length >= bytes) {
            return false;
        }
        memcpy(to + used, piece, length);
        used += length;
    }
    to[used] = '\0';
    return true;
}

static int open_file(struct am_log *log, const char *path, char *error,
                     size_t error_bytes)
{
    char expanded[LOG_PATH_BYTES], shown[SHOWN_PATH];

    if (*path == '\0' ||
        !path_expand(path, log->rank, expanded, sizeof(expanded))) {
        snprintf(error, error_bytes,
                 "AM_LOG has a file name that is empty or longer than %d bytes",
                 LOG_PATH_BYTES - 1);
        return -1;
    }
    log->file = fopen(expanded, "ae");
    if (log->file == NULL) {
        am_text_show(expanded, shown, sizeof(shown));
        snprintf(error, error_bytes, "AM_LOG names the file %s: %s", shown,
                 strerror(errno));
        return -1;
    }
    setvbuf(log->file, NULL, _IOFBF, LOG_LINE_BYTES * 2);
    return 0;
}

int am_log_open(struct am_log *log, const char *spec, uint32_t rank,
                char *error, size_t error_bytes)
{
    char shown[SHOWN_BYTES];
    size_t length;
    int level;

    *log = (struct am_log){.level = AM_LOG_WARN, .rank = rank, .file = stderr};
    if (spec == NULL || *spec == '\0') {
        return 0;
    }
    length = strcspn(spec, ":");
    level = level_find(spec, length);
    if (level < 0) {
        am_text_show(spec, shown, sizeof(shown));
        snprintf(error, error_bytes,
                 "AM_LOG is \"%s\"; accepted: none, error, warn, info, "
                 "debug, trace or data, and optionally :FILE (%%r is the rank)",
                 shown);
        return -1;
    }
    log->level = (am_log_level_t)level;
    if (spec[length] == '\0') {
        return 0;
    }
    return open_file(log, spec + length + 1, error, error_bytes);
}

/* The files that the process has written together: few, and kept. */
struct output {
    struct output *next;
    dev_t device;
    ino_t inode;
};

static struct output *outputs;
static pthread_mutex_t outputs_lock = PTHREAD_MUTEX_INITIALIZER;

/* Is it one of them?  From now on it is. */
static bool output_is_known(const struct stat *file)
{
    struct output *output = outputs;

    while (output != NULL &&
           (output->device != file->st_dev || output->inode != file->st_ino)) {
        output = output->next;
    }
    if (output != NULL) {
        return true;
    }
    output = malloc(sizeof(*output));
    if (output != NULL) {
        *output = (struct output){outputs, file->st_dev, file->st_ino};
        outputs = output;
    }
    return false;
}

static int output_empty(int fd, bool together)
{
    struct stat file;
    int failed = 0;

    if (fstat(fd, &file) != 0) {
        return -1;
    }
    pthread_mutex_lock(&outputs_lock);
    if (S_ISREG(file.st_mode) && !(together && output_is_known(&file))) {
        failed = ftruncate(fd, 0);
    }
    pthread_mutex_unlock(&outputs_lock);
    return failed;
}

FILE *am_log_output_open(const char *name, uint32_t rank, bool together)
{
    char expanded[LOG_PATH_BYTES];
    FILE *file = NULL;
    int error, fd;

    if (strcmp(name, "-") == 0) {
        return stderr;
    }
    if (!path_expand(name, rank, expanded, sizeof(expanded))) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    fd = open(expanded, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) {
        return NULL;
    }
    if (output_empty(fd, together) == 0) {
        file = fdopen(fd, "a");
    }
    if (file == NULL) {
        error = errno;
        close(fd);
        errno = error;
    }
    return file;
}

int am_log_output_close(FILE *file)
{
    bool failed = ferror(file) != 0;
    int error = EIO; /* of an earlier write, long forgotten */

    if (fflush(file) != 0) {
        failed = true;
        error = errno;
    }
    if (file == stderr) {
        clearerr(file);
    } else if (fclose(file) != 0 && !failed) {
        failed = true;
        error = errno;
    }
    errno = error;
    return failed ? -1 : 0;
}

void am_log_close(struct am_log *log)
{
    if (log->file != NULL && log->file != stderr) {
        fclose(log->file);
    }
    log->file = NULL;
    log->level = AM_LOG_NONE;
}

/* The file does not take the line.  That is said once, where it may be seen,
 * and so are errors and warnings from now on; the rest is lost. */
static void file_give_up(struct am_log *log, const char *line, size_t length)
{
    fprintf(stderr,
            "am %u error: the file of AM_LOG cannot be written: %s; errors and "
            "warnings follow here\n",
            log->rank, strerror(errno));
    fclose(log->file);
    log->file = stderr;
    if (log->level > AM_LOG_WARN) {
        log->level = AM_LOG_WARN;
    }
    fwrite(line, 1, length, stderr);
}

void am_log_write(struct am_log *log, am_log_level_t level, const char *format,
                  ...)
{
    char line[LOG_LINE_BYTES];
    va_list args;
    int head;
    int body;
    size_t used;

    if (log->file == NULL || level <= AM_LOG_NONE || level >= LEVEL_COUNT) {
        return;
    }
    head = snprintf(line, sizeof(line), "am %u %s: ", log->rank,
                    level_names[level]);
    va_start(args, format);
    body = vsnprintf(line + head, sizeof(line) - 1 - (size_t)head, format,
                     args);
    va_end(args);
    used = (size_t)head + (body > 0 ? (size_t)body : 0);
    if (used > sizeof(line) - 2) {
        used = sizeof(line) - 2; /* cut; vsnprintf wrote no more than that */
    }
    line[used] = '\n';
    if ((fwrite(line, 1, used + 1, log->file) != used + 1 ||
         fflush(log->file) != 0) &&
        log->file != stderr) {
        file_give_up(log, line, level <= AM_LOG_WARN ? used + 1 : 0);
    }
}

/*
 * A file is read at once.  It is written beside the one that it replaces, and then gets
 * its name.
 */
#include "config.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef void (*print_fn)(FILE *file, const void *arg);

#define MODE_NEW ((mode_t)0644)

/* Its descriptor; -1 with errno as am_file_read. */
static int regular_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat found = {0};
    int error;

    if (fd < 0 || (fstat(fd, &found) == 0 && S_ISREG(found.st_mode))) {
        return fd;
    }
    error = S_ISDIR(found.st_mode) ? EISDIR : 0;
    (void)close(fd);
    errno = error;
    return -1;
}

char *am_file_read(const char *path, size_t most)
{
    int fd = regular_open(path);
    char *text = fd < 0 ? NULL : malloc(most + 1);
    size_t length = 0;
    ssize_t got = 0;
    int error;

    if (fd < 0) {
        return NULL;
    }
    while (text != NULL && length <= most &&
           (got = read(fd, text + length, most + 1 - length)) > 0) {
        length += (size_t)got;
    }
    error = text == NULL ? ENOMEM : got < 0 ? errno : length > most ? EFBIG : 0;
    (void)close(fd);
    if (error == 0) {
        text[length] = '\0';
        return text;
    }
    free(text);
    errno = error;
    return NULL;
}

/* A terminal, say: anything that is there and no file. */
static bool is_special(const char *path)
{
    struct stat found;

    return stat(path, &found) == 0 && !S_ISREG(found.st_mode);
}

int am_file_flush(FILE *file)
{
    errno = 0;
    if (fflush(file) == 0 && ferror(file) == 0) {
        return 0;
    }
    return errno != 0 ? errno : EIO; /* of an earlier write, long forgotten */
}

static bool file_write(FILE *file, print_fn print, const void *arg)
{
    int error;

    if (file == NULL) {
        return false;
    }
    print(file, arg);
    error = am_file_flush(file);
    if (error == 0) {
        return fclose(file) == 0;
    }
    (void)fclose(file);
    errno = error;
    return false;
}

/* A new file in the same folder, with the rights of the one that is there. */
static FILE *file_beside(const char *path, char *name, size_t bytes)
{
    struct stat found;
    mode_t mode = stat(path, &found) == 0 ? found.st_mode & 0777 : MODE_NEW;
    FILE *file;
    int fd;

    if (snprintf(name, bytes, "%s.XXXXXX", path) >= (int)bytes) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    fd = mkstemp(name);
    if (fd < 0) {
        return NULL;
    }
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)fchmod(fd, mode); /* else nobody but the user can read it */
    file = fdopen(fd, "w");
    if (file == NULL) {
        (void)close(fd);
        (void)unlink(name);
        errno = ENOMEM;
    }
    return file;
}

bool am_file_replace(const char *path, print_fn print, const void *arg)
{
    char real[PATH_MAX], name[PATH_MAX];
    FILE *file;
    int error;

    if (is_special(path)) {
        return file_write(fopen(path, "we"), print, arg);
    }
    if (realpath(path, real) != NULL) {
        path = real;
    }
    file = file_beside(path, name, sizeof(name));
    if (file == NULL) {
        return false;
    }
    if (file_write(file, print, arg) && rename(name, path) == 0) {
        return true;
    }
    error = errno;
    (void)unlink(name);
    errno = error;
    return false;
}

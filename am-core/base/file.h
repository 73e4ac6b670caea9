/*
 * Files that are read, or written, whole or not at all.
 */
#ifndef AM_BASE_FILE_H
#define AM_BASE_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* All of a regular file that has `most` bytes or fewer, as a text; malloc's.  Nothing
 * is waited for, as a writer of a pipe would be.  NULL: errno says why, or is 0 when the
 * file is not regular (of a folder it is EISDIR). */
char *am_file_read(const char *path, size_t most);
/* 0 when all that was written to it has got there, else an errno. */
int am_file_flush(FILE *file);
/* Put what `print` prints, which gets `arg`, into the file `path`.  A file that is there
 * stays until the new one is whole: the disk may be full, and somebody may read it
 * meanwhile.  Of a link it is the file that is replaced; a terminal or a pipe is written
 * to.  False: errno says why not. */
bool am_file_replace(const char *path,
                     void (*print)(FILE *file, const void *arg),
                     const void *arg);

#endif

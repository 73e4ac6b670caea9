/*
 * Files that are written whole or not at all.
 */
#ifndef AM_BASE_FILE_H
#define AM_BASE_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* Put what `print` prints, which gets `arg`, into the file `path`.  A file that is there
 * stays until the new one is whole: the disk may be full, and somebody may read it
 * meanwhile.  Of a link it is the file that is replaced; a terminal or a pipe is written
 * to.  False: errno says why not. */
bool am_file_replace(const char *path,
                     void (*print)(FILE *file, const void *arg),
                     const void *arg);

#endif

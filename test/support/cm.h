/*
 * cmocka with the headers that it wants before it.
 */
#ifndef AM_TEST_SUPPORT_CM_H
#define AM_TEST_SUPPORT_CM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif

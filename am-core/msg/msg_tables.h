/*
 * The tables of msg_tables.c: counters and variables.
 */
#ifndef AM_MSG_MSG_TABLES_H
#define AM_MSG_MSG_TABLES_H

#include "msg/msg_core.h"

extern const struct am_stat_row am_msg_stat_rows[AM_MSG_STAT_COUNT];
extern const struct am_config_table am_msg_config_table;

#endif

/*
 * am_sim's inside: options and output.
 */
#ifndef AM_TOOLS_SIM_H
#define AM_TOOLS_SIM_H

#include "tools/sim_figures.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum {
    EXIT_USAGE = 2,
    SIM_SETS_MAX = 32,
    SIM_TRACE_RECORDS = 1 << 16 /* of each node, where a timeline is wanted */
};

/* A row that is kept and not printed. */
struct sim_kept {
    char metric[64];
    char unit[8];
    uint64_t value, bytes;
};

struct sim_rows {
    struct sim_kept *row;
    uint32_t count, room;
};

struct sim_options {
    const char *machine;
    const char *sets[SIM_SETS_MAX];
    uint32_t set_count;
    const char *check;  /* file of targets, or NULL */
    const char *figure; /* only this one, or NULL */
    const char *trace;  /* where to write the timeline, or NULL */
    const char *run;    /* shared object of --run, or NULL */
    int run_argc;       /* arguments of its nodes, its path first */
    char **run_argv;    /* of --mpi: the command, NULL at its end; of
                         * --reproduce sp-nas: launcher, folder of kernels */
    char klass;         /* of NAS, of --reproduce sp-nas */
    uint32_t nodes; /* of --run, --speed and so on; 0: the default */
    uint64_t limit_ms;     /* as it was given; 0: not */
    const char *only;      /* of --predict: how names begin, or NULL: all */
    struct sim_rows *into; /* keep rows here and print none; NULL: print */
    bool *any;             /* set by the first row; NULL: nobody asks */
    const char *reproduce; /* the comparison of this name, or NULL */
    const char *plot;      /* of --reproduce: where to draw it, or NULL */
    bool every_machine;    /* of --reproduce: none was given */
    const char *compute; /* of --mpi: AM_SIM_COMPUTE; NULL: no such run */
    bool mpi, predict, explain, print, list, speed, growth, alltoall;
    bool sensitivity, all; /* all: of every built-in machine */
    bool json, progress;
    struct ns_sim_params params;
};

/* What a figure should be. */
struct sim_target {
    const struct figure *figure;
    uint64_t value; /* in the figure's unit */
    uint64_t percent;
    char source[NS_MACHINE_TEXT];
};

enum {
    SIM_TARGETS_MAX = 32,
    SIM_TARGET_SETS_MAX = 4
};

struct sim_targets {
    struct sim_target target[SIM_TARGETS_MAX];
    uint32_t count;
    char machine[64];
    char set[SIM_TARGET_SETS_MAX][NS_MACHINE_TEXT]; /* as of --set */
    uint32_t set_count;
};

/* Are predictions of this name wanted? */
static inline bool sim_wanted(const struct sim_options *options,
                              const char *metric)
{
    return options->only == NULL ||
           strncmp(metric, options->only, strlen(options->only)) == 0;
}

extern const char sim_help[];

void sim_rows_free(struct sim_rows *rows);

/* Read a .expect file.  0, or -1 with one sentence that names file, line. */
int sim_targets_load(const char *path, struct sim_targets *targets, char *error,
                     size_t error_bytes);

/* The same of a built-in one, by its number: 1 past the last. */
int sim_targets_built_in(uint32_t index, struct sim_targets *targets,
                         char *error, size_t error_bytes);

const struct figure *sim_figure_find(const char *name);

/* One row: a table line, or a JSON object with settings and trace hash.
 * `target` NULL: none. */
struct sim_row {
    const char *metric;
    const char *unit; /* "ps" or "B/s" */
    uint64_t value;
    uint64_t bytes; /* of the transfers; 0: no matter */
    const struct ns_sim_result *result;
    const struct sim_target *target;
};

/* Print `object` with settings and trace hash (`result` NULL: none) on one line;
 * takes it over. */
void sim_json_print(const struct sim_options *options,
                    const struct ns_machine *machine,
                    const struct ns_sim_result *result, json_t *object);
void sim_row_print(const struct sim_options *options,
                   const struct ns_machine *machine, const struct sim_row *row);
/* Is the value within the target's tolerance? */
bool sim_row_good(const struct sim_row *row);
/* Stage by stage; false when the stages do not add up to the whole. */
bool sim_explain_print(const struct sim_options *options,
                       const struct ns_machine *machine,
                       const struct ns_marks *marks,
                       const struct ns_sim_result *result);
/* As a machine file, which ns_machine_load reads. */
void sim_machine_print(const struct ns_machine *machine);
/* `done` of `total` runs are over, at this virtual time. */
void sim_progress(const struct sim_options *options, uint32_t done,
                  uint32_t total, uint64_t virtual_ps);
/* The part of the bar that is done, for the next tick; `total` 0: not known. */
void sim_bar_part(uint64_t done, uint64_t total);
void sim_bar_clear(void);
/* Of ns_sim_params: draws the bar. */
void sim_bar_tick(void *arg, uint64_t virtual_ps);

/* One measurement of the simulator itself. */
struct sim_speed {
    const char *metric;
    uint32_t nodes;   /* 0: no machine was built */
    uint32_t traffic; /* rounds, or events pending */
    uint64_t events, hardware_events, packets;
    uint64_t virtual_ps, core_ps;
    uint64_t node_bytes;                /* memory that a node took */
    const struct ns_sim_result *result; /* NULL where nodes is 0 */
};

void sim_speed_print(const struct sim_options *options,
                     const struct ns_machine *machine,
                     const struct sim_speed *row);

/* Time of a core that this process and its children that have ended have used. */
uint64_t sim_core_ps(void);
/* On stderr, as real time differs from run to run: how fast a job of processes
 * was that took `core_ps` in all. */
void sim_job_print(const struct sim_options *options,
                   const struct ns_sim_result *result, uint64_t core_ps);

/* How a scenario of --run, or the program of --mpi, has ended. */
void sim_scenario_print(const struct sim_options *options,
                        const struct ns_machine *machine, uint32_t nodes,
                        const struct ns_sim_result *result);

/* 0, or the exit status after saying what is wrong. */
int sim_options_parse(int argc, char **argv, struct sim_options *options);
/* The same of options that do not go together: one thing to do at a time, and no
 * option that it has no use for; where programs run, and what is predicted. */
int sim_options_modes(const struct sim_options *options);
int sim_options_ways(struct sim_options *options);

/* Say it on stderr; EXIT_FAILURE. */
int sim_fail(const char *what);

/* What the machine predicts; the simulator's own speed; its growth.  Exit
 * statuses. */
int sim_predict(const struct sim_options *options,
                const struct ns_machine *machine);
/* The same, each with an interval and with what assumed settings move it by. */
int sim_sensitivity(const struct sim_options *options,
                    const struct ns_machine *machine);
/* Of machines with a LANai. */
int sim_predict_lanai(const struct sim_options *options,
                      const struct ns_machine *machine);
/* MPI's ping-pong of two nodes, ps one way; `protocol` as AM_PROTO, NULL: the
 * cheapest. */
int sim_predict_pingpong(const struct sim_options *options,
                         const struct ns_machine *machine, const char *protocol,
                         size_t bytes);
/* Of --reproduce: the paper's (first) machine, NULL: there is no such name. */
const char *sim_reproduce_machine(const char *name);
/* Is it one whose number of nodes --nodes may say? */
bool sim_reproduce_takes_nodes(const char *name);
/* Is it one of jobs of --mpi, which wants a launcher and programs? */
bool sim_reproduce_is_job(const char *name);
int sim_reproduce(const struct sim_options *options);
int sim_predict_bgp(const struct sim_options *options,
                    const struct ns_machine *machine);
int sim_alltoall(const struct sim_options *options,
                 const struct ns_machine *machine);
int sim_scenario(const struct sim_options *options,
                 const struct ns_machine *machine);
/* Take AM_SIM_COMPUTE into the options.  0, or the exit status after saying what
 * is wrong.  What to say of it with the result besides. */
int sim_compute_choose(struct sim_options *options,
                       const struct ns_machine *machine);
const char *sim_compute_note(const struct sim_options *options);
/* A process that tells on stderr if this one is killed between `begin` and `end`.
 * `begin`: 0, or -1 with errno. */
struct sim_watch {
    int engine_fd, watch_fd; /* this process's end, and the other's */
};
int sim_watch_begin(struct sim_watch *watch);
void sim_watch_end(struct sim_watch *watch);
int sim_mpi(const struct sim_options *options,
            const struct ns_machine *machine);
int sim_speed(const struct sim_options *options,
              const struct ns_machine *machine);
int sim_growth(const struct sim_options *options,
               const struct ns_machine *machine);

#endif

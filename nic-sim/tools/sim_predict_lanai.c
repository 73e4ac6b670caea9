/*
 * What a machine with a LANai predicts: LogP of the LCI paper's implementations,
 * and multicast to 64 nodes by NIs and by hosts, along both trees.  Each is the
 * machine with other settings of its group lanai.
 */
#include "tools/sim.h"

#include <stdlib.h>
#include <string.h>

#define MCAST_NODES 64

/* Settings that make an implementation of the machine's base. */
struct variant {
    const char *name;
    const char *sets[2];
    uint32_t set_count;
};

static const struct variant variants[] = {
        {"I-sdma", {"lanai.reliability=none", "lanai.transfer=dma"}, 2},
        {"I-nirx", {"lanai.reliability=ni", "lanai.transfer=dma"}, 2},
        {"I-hrx", {"lanai.reliability=host", "lanai.transfer=dma"}, 2},
        {"I-pio", {"lanai.reliability=none", "lanai.transfer=pio"}, 2},
        {"I-rcpy", {"lanai.reliability=none", "lanai.transfer=rcpy"}, 2},
};

static const struct variant trees[] = {
        {"ni.binary", {"lanai.multicast=ni", "lanai.tree=binary"}, 2},
        {"ni.binomial", {"lanai.multicast=ni", "lanai.tree=binomial"}, 2},
        {"host.binary", {"lanai.multicast=host", "lanai.tree=binary"}, 2},
        {"host.binomial", {"lanai.multicast=host", "lanai.tree=binomial"}, 2},
};

static const char *const figure_names[] = {
        "os", "or", "latency", "gap", "end_to_end", "ni_fetch_add",
};

static const size_t sizes[] = {8, 256, 1024, 4096, 16384, 65536};

enum {
    VARIANT_COUNT = sizeof(variants) / sizeof(variants[0]),
    TREE_COUNT = sizeof(trees) / sizeof(trees[0]),
    FIGURE_COUNT = sizeof(figure_names) / sizeof(figure_names[0]),
    SIZE_COUNT = sizeof(sizes) / sizeof(sizes[0])
};

/* The machine of the command line with a variant's settings; NULL and said. */
static struct ns_machine *machine_with(const struct sim_options *options,
                                       const struct variant *variant)
{
    const char *sets[SIM_SETS_MAX + 2];
    uint32_t count = 0;
    char error[512];
    struct ns_machine *machine;

    for (uint32_t i = 0; i < options->set_count; i++) {
        sets[count++] = options->sets[i];
    }
    for (uint32_t i = 0; i < variant->set_count; i++) {
        sets[count++] = variant->sets[i];
    }
    machine = ns_machine_load(options->machine, sets, count, error,
                              sizeof(error));
    if (machine == NULL) {
        (void)sim_fail(error);
    }
    return machine;
}

/* Remote copies have no fetch-and-add of their own. */
static bool has_figure(const struct variant *variant, const char *name)
{
    return strcmp(name, "ni_fetch_add") != 0 ||
           strcmp(variant->sets[1], "lanai.transfer=dma") == 0;
}

static int predict_variant(const struct sim_options *options,
                           const struct variant *variant)
{
    struct ns_machine *machine = machine_with(options, variant);
    int status = machine == NULL ? EXIT_FAILURE : EXIT_SUCCESS;

    for (int i = 0; i < FIGURE_COUNT && status == EXIT_SUCCESS; i++) {
        struct ns_sim_result result;
        char error[512] = "", name[64];
        struct sim_row row = {.metric = name, .unit = "ps", .result = &result};

        snprintf(name, sizeof(name), "%s.%s", variant->name, figure_names[i]);
        if (!has_figure(variant, figure_names[i]) ||
            !sim_wanted(options, name)) {
            continue;
        }
        if (figure_run(sim_figure_find(figure_names[i]), machine,
                       &options->params, &row.value, &result, NULL, error,
                       sizeof(error)) != 0) {
            status = sim_fail(error);
            break;
        }
        sim_row_print(options, machine, &row);
    }
    free(machine);
    return status;
}

static int predict_tree(const struct sim_options *options,
                        const struct variant *tree, uint32_t *done)
{
    struct ns_machine *machine = machine_with(options, tree);
    int status = machine == NULL ? EXIT_FAILURE : EXIT_SUCCESS;

    for (int i = 0; i < SIZE_COUNT && status == EXIT_SUCCESS; i++) {
        struct ns_sim_result result;
        char error[512] = "", name[64];
        struct sim_row row = {.metric = name,
                              .unit = "ps",
                              .bytes = sizes[i],
                              .result = &result};

        snprintf(name, sizeof(name), "mcast.%s", tree->name);
        if (!sim_wanted(options, name)) {
            break;
        }
        if (figure_multicast(sizes[i], MCAST_NODES, machine, &options->params,
                             &row.value, &result, error, sizeof(error)) != 0) {
            status = sim_fail(error);
            break;
        }
        sim_row_print(options, machine, &row);
        if (i + 1 == SIZE_COUNT) { /* the longest: what a root can send */
            row.unit = "B/s";
            row.value = sizes[i] * NS_PS_PER_SECOND / row.value;
            sim_row_print(options, machine, &row);
        }
        sim_progress(options, ++*done, TREE_COUNT * SIZE_COUNT + 1,
                     result.end_ps);
    }
    free(machine);
    return status;
}

int sim_predict_lanai(const struct sim_options *options,
                      const struct ns_machine *machine)
{
    int status = EXIT_SUCCESS;
    uint32_t done = 0;

    (void)machine;
    for (int i = 0; i < VARIANT_COUNT && status == EXIT_SUCCESS; i++) {
        status = predict_variant(options, &variants[i]);
    }
    for (int i = 0; i < TREE_COUNT && status == EXIT_SUCCESS; i++) {
        status = predict_tree(options, &trees[i], &done);
    }
    return status;
}

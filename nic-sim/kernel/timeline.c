/*
 * The timeline: the records of all rings as one Chrome-trace JSON array, which
 * the Perfetto viewer opens.  A process for each node and one for the network;
 * their tracks are what the program calls, the host, the bus, the NIC, what
 * enters and leaves the network, and, in the network, every link.
 */
#include "kernel/engine.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const track_names[NS_TRACK_LINKS] = {"calls", "host", "bus",
                                                        "NIC", "network port"};

static const struct {
    const char *name;
    uint32_t track;
} kinds[NS_TRACE_COUNT] = {
        [NS_TRACE_PIO] = {"pio", NS_TRACK_BUS},
        [NS_TRACE_DMA_OUT] = {"dma out", NS_TRACK_BUS},
        [NS_TRACE_DMA_IN] = {"dma in", NS_TRACK_BUS},
        [NS_TRACE_FW] = {"firmware", NS_TRACK_NIC},
        [NS_TRACE_INJECT] = {"inject", NS_TRACK_PORT},
        [NS_TRACE_ARRIVE] = {"arrive", NS_TRACK_PORT},
        [NS_TRACE_DROP] = {"drop", NS_TRACK_PORT},
        [NS_TRACE_SEND] = {"send", NS_TRACK_HOST},
        [NS_TRACE_RECEIVE] = {"receive", NS_TRACK_HOST},
        [NS_TRACE_USER] = {"mark", NS_TRACK_HOST},
        [NS_TRACE_LINK] = {"packet", NS_TRACK_LINKS},
};

void ns_timeline_names(struct am_trace *trace)
{
    for (uint16_t kind = 0; kind < NS_TRACE_COUNT; kind++) {
        am_trace_name(trace, kind, kinds[kind].name);
        am_trace_track(trace, kind, kinds[kind].track, kind == NS_TRACE_LINK);
    }
}

static void write_name(FILE *file, const char *what, uint32_t pid, uint32_t tid,
                       const char *name, uint32_t number)
{
    fprintf(file,
            "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
            ",\"args\":{\"name\":\"%s",
            what, pid, tid, name);
    if (number != UINT32_MAX) {
        fprintf(file, " %" PRIu32, number);
    }
    fputs("\"}}", file);
}

/* Names of processes and tracks, before the records. */
static void write_names(const struct ns_engine *engine, FILE *file)
{
    for (uint32_t node = 0; node < engine->node_count; node++) {
        bool calls = ns_slices_trace(engine, node) != NULL;

        write_name(file, "process_name", node, 0, "node", node);
        for (uint32_t track = calls ? NS_TRACK_CALLS : NS_TRACK_HOST;
             track < NS_TRACK_LINKS; track++) {
            fputs(",\n", file);
            write_name(file, "thread_name", node, track, track_names[track],
                       UINT32_MAX);
        }
        fputs(",\n", file);
    }
    write_name(file, "process_name", engine->node_count, 0, "network",
               UINT32_MAX);
    for (const struct ns_link *link = engine->first_link; link != NULL;
         link = link->next_link) {
        fputs(",\n", file);
        write_name(file, "thread_name",
                   link->component.node == NS_NODE_NONE ? engine->node_count
                                                        : link->component.node,
                   NS_TRACK_LINKS + link->component.id, link->component.name,
                   link->number);
    }
}

/* The inside of the JSON array of one ring, "" when it is empty. */
static int trace_write_one(const struct am_trace *trace, FILE *file, bool *any)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    int status = memory == NULL ? -1 : am_trace_write(trace, memory);

    if (memory != NULL && fclose(memory) != 0) {
        status = -1;
    }
    /* "[\n" ... "\n]\n" */
    if (status == 0 && bytes > 5) {
        fputs(*any ? ",\n" : "", file);
        fwrite(text + 2, 1, bytes - 5, file);
        *any = true;
    }
    free(text);
    return status;
}

int ns_engine_trace_write(const struct ns_engine *engine, FILE *file)
{
    const struct am_trace *trace;
    bool any = true;

    fputs("[\n", file);
    write_names(engine, file);
    for (uint32_t i = 0; i <= engine->node_count; i++) {
        if (trace_write_one(engine->traces[i], file, &any) != 0) {
            return -1;
        }
        trace = i < engine->node_count ? ns_slices_trace(engine, i) : NULL;
        if (trace != NULL && trace_write_one(trace, file, &any) != 0) {
            return -1;
        }
    }
    fputs("\n]\n", file);
    return fflush(file) == 0 && !ferror(file) ? 0 : -1;
}

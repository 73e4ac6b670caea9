/*
 * A comparison of am_sim --reproduce: series over one axis, what the paper
 * found, a plot.
 */
#ifndef AM_TOOLS_SIM_CHART_H
#define AM_TOOLS_SIM_CHART_H

#include "tools/sim.h"

enum {
    SIM_CHART_SERIES = 9,
    SIM_CHART_POINTS = 16,
    SIM_CHART_CLAIMS = 5
};

struct sim_chart {
    const char *title, *x, *y;
    const char *series[SIM_CHART_SERIES];
    uint32_t series_count, count, claim_count;
    double at[SIM_CHART_POINTS];
    double value[SIM_CHART_SERIES][SIM_CHART_POINTS];
    double first_us[SIM_CHART_SERIES]; /* time of the first point; 0: none */
    bool logarithmic; /* its x axis; as it is with first_us */
    bool logarithmic_y;

    const char *claims; /* whose they are; NULL: the paper's */

    struct {
        const char *paper;
        bool holds;
    } claim[SIM_CHART_CLAIMS];
};

/* The paper found this; is it so here? */
void sim_chart_claim(struct sim_chart *chart, const char *paper, bool holds);
void sim_chart_print(const struct sim_chart *chart);
/* Side by side into the file, an SVG, by gnuplot.  The exit status. */
int sim_chart_plot(const struct sim_chart *charts, uint32_t count,
                   const char *name, const char *path);

#endif

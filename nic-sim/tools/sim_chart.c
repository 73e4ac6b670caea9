/*
 * Tables and plots of sim_chart.h.
 */
#include "config.h"

#include "tools/sim_chart.h"

#include <signal.h>
#include <stdlib.h>

enum { /* of plots */
    COLUMNS_MAX = 2
};

enum { /* of tables */
    COLUMNS_WIDE = 5
};

void sim_chart_claim(struct sim_chart *chart, const char *paper, bool holds)
{
    chart->claim[chart->claim_count].paper = paper;
    chart->claim[chart->claim_count++].holds = holds;
}

void sim_chart_print(const struct sim_chart *chart)
{
    int width = chart->series_count > COLUMNS_WIDE ? 14 : 21;

    printf("# %s, %s\n%-10s", chart->title, chart->y, chart->x);
    for (uint32_t i = 0; i < chart->series_count; i++) {
        printf(" %*s", width, chart->series[i]);
    }
    putchar('\n');
    for (uint32_t p = 0; p < chart->count; p++) {
        printf("%-10.0f", chart->at[p]);
        for (uint32_t i = 0; i < chart->series_count; i++) {
            printf(" %*.3f", width, chart->value[i][p]);
        }
        putchar('\n');
    }
    if (chart->first_us[0] > 0) {
        printf("%.0f, us     ", chart->at[0]);
        for (uint32_t i = 0; i < chart->series_count; i++) {
            printf(" %*.3f", width, chart->first_us[i]);
        }
        putchar('\n');
    }
    for (uint32_t i = 0; i < chart->claim_count; i++) {
        printf("%s  %s: %s\n",
               chart->claim[i].holds ? "so here    " : "NOT so here",
               chart->claims == NULL ? "the paper" : chart->claims,
               chart->claim[i].paper);
    }
}

/* As a text of gnuplot's: a machine's file may have any name. */
static void text_put(FILE *to, const char *what, const char *text)
{
    fprintf(to, "set %s '", what);
    for (; *text != '\0'; text++) {
        fputc(*text == '\n' ? ' ' : *text, to);
        if (*text == '\'') {
            fputc('\'', to);
        }
    }
    fputs("' noenhanced\n", to);
}

/* One chart's data and its plot, by gnuplot's commands. */
static void chart_plot(FILE *to, const struct sim_chart *chart)
{
    fputs("$data << EOD\n", to);
    for (uint32_t p = 0; p < chart->count; p++) {
        fprintf(to, "%.0f", chart->at[p]);
        for (uint32_t i = 0; i < chart->series_count; i++) {
            fprintf(to, " %.4f", chart->value[i][p]);
        }
        fputc('\n', to);
    }
    fputs("EOD\n", to);
    text_put(to, "title", chart->title);
    fprintf(to,
            "set xlabel '%s'\nset ylabel '%s'\n"
            "set key left top\nset grid\n%s\n%s\nplot ",
            chart->x, chart->y,
            chart->first_us[0] > 0 || chart->logarithmic ? "set logscale x 2"
                                                         : "unset logscale x",
            chart->logarithmic_y ? "set logscale y 10" : "unset logscale y");
    for (uint32_t i = 0; i < chart->series_count; i++) {
        fprintf(to, "%s$data using 1:%u with linespoints title '%s'",
                i == 0 ? "" : ", ", i + 2, chart->series[i]);
    }
    fputc('\n', to);
}

int sim_chart_plot(const struct sim_chart *charts, uint32_t count,
                   const char *name, const char *path)
{
    uint32_t columns = count < COLUMNS_MAX ? count : COLUMNS_MAX;
    uint32_t rows = (count + columns - 1) / columns;
    FILE *to;

    if (strpbrk(path, "'\\\n") != NULL) {
        return sim_fail("--plot: no quotes or backslashes in a file's name");
    }
    fflush(stdout);
    (void)signal(SIGPIPE, SIG_IGN); /* pclose tells that it has ended */
    to = popen("gnuplot", "w");
    if (to == NULL) {
        return sim_fail("gnuplot cannot be started");
    }
    fprintf(to,
            "set terminal svg size %u,%u\nset output '%s'\n"
            "set multiplot layout %u,%u title '%s'\n",
            480 * columns, 400 * rows, path, rows, columns, name);
    for (uint32_t i = 0; i < count; i++) {
        chart_plot(to, &charts[i]);
    }
    fputs("unset multiplot\n", to);
    return pclose(to) == 0 ? EXIT_SUCCESS
                           : sim_fail("gnuplot, which draws --plot, failed");
}

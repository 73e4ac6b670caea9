/*
 * A program of one rank, for linking it with libam.a: it opens a context and
 * prints the name of each variable, among which are those of every device.
 */
#include <am.h>
#include <am_coll.h>
#include <am_msg.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    char text[4096], error[1024] = "";
    struct am_params params = {
            .size = 1, .error = error, .error_bytes = sizeof(error)};
    struct am_variable_info info;
    struct am_ctx *ctx;

    if (am_open(&params, &ctx) != AM_OK) {
        fprintf(stderr, "%s\n", error);
        return EXIT_FAILURE;
    }
    for (uint32_t i = 0;
         am_variable(ctx, i, &info, text, sizeof(text)) == AM_OK; i++) {
        puts(info.name);
    }
    am_close(ctx);
    return EXIT_SUCCESS;
}

/*
 * The text of PMI-1: fields of a line, and blobs as hex.  Pure functions; the
 * conversation itself is pmi.c.
 */
#include "am/pmi.h"

#include <string.h>

bool am_pmi_field(const char *line, const char *key, char *value,
                  size_t value_bytes)
{
    size_t key_length = strlen(key);
    const char *word = line;

    while (*word != '\0') {
        size_t length = strcspn(word, " \n");

        if (length > key_length && word[key_length] == '=' &&
            memcmp(word, key, key_length) == 0) {
            size_t value_length = length - key_length - 1;

            if (value_length >= value_bytes) {
                return false;
            }
            memcpy(value, word + key_length + 1, value_length);
            value[value_length] = '\0';
            return true;
        }
        word += length;
        word += strspn(word, " \n");
    }
    return false;
}

bool am_pmi_answer_ok(const char *line, const char *cmd)
{
    char text[32];

    if (!am_pmi_field(line, "cmd", text, sizeof(text)) ||
        strcmp(text, cmd) != 0) {
        return false;
    }
    return !am_pmi_field(line, "rc", text, sizeof(text)) ||
           strcmp(text, "0") == 0;
}

void am_pmi_hex_write(const void *data, size_t bytes, char *text)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = data;

    for (size_t i = 0; i < bytes; i++) {
        *text++ = digits[from[i] >> 4];
        *text++ = digits[from[i] & 15];
    }
    *text = '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return -1;
}

bool am_pmi_hex_read(const char *text, void *data, size_t bytes)
{
    unsigned char *to = data;

    for (size_t i = 0; i < bytes; i++) {
        int high = hex_digit(text[2 * i]);
        int low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);

        if (low < 0) {
            return false;
        }
        to[i] = (unsigned char)(high * 16 + low);
    }
    return text[2 * bytes] == '\0';
}

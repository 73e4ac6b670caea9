/*
 * The counters and variables of msg, as tables.
 */
#include "msg/msg_tables.h"

#include "msg/proto_choice.h"

/* One row for each protocol, in the order of am_proto_t. */
#define ROWS(_prefix, _suffix, _unit, _text)                            \
    {_prefix "_eager" _suffix, _unit, _text " by eager"},               \
            {_prefix "_buffered" _suffix, _unit, _text " by buffered"}, \
            {_prefix "_prefix" _suffix, _unit, _text " by prefix"},     \
            {_prefix "_get" _suffix, _unit, _text " by get"},           \
    {                                                                   \
        _prefix "_put" _suffix, _unit, _text " by put"                  \
    }

const struct am_stat_row am_msg_stat_rows[AM_MSG_STAT_COUNT] = {
        ROWS("msg_tx", "", "messages", "messages sent"),
        ROWS("msg_tx", "_bytes", "bytes", "payload sent"),
        ROWS("msg_rx", "", "messages", "messages received"),
        ROWS("msg_rx", "_bytes", "bytes", "payload received"),
        [AM_MSG_COPIES] =
                {"msg_copies", "copies",
                 "copies of payload made by msg (the device's own are "
                 "in dev_copy_bytes)"},
        [AM_MSG_COPY_BYTES] = {"msg_copy_bytes", "bytes",
                               "bytes copied by those copies"},
        [AM_MSG_UNEXP_MESSAGES] = {"msg_unexpected_messages", "messages",
                                   "messages that came before their receive"},
        [AM_MSG_UNEXP_BYTES_NOW] = {"msg_unexpected_bytes", "bytes",
                                    "unexpected and packed payload held now"},
        [AM_MSG_UNEXP_BYTES_PEAK] = {"msg_unexpected_bytes_peak", "bytes",
                                     "most of it held at one time"},
        [AM_MSG_UNEXP_REQUESTS_PEAK] = {"msg_unexpected_messages_peak",
                                        "messages",
                                        "most unexpected messages at one time"},
        [AM_MSG_MATCH_STEPS] = {"msg_match_steps", "steps",
                                "comparisons made by matching"},
        [AM_MSG_TRUNCATED] = {"msg_truncated", "messages",
                              "messages longer than their receive buffer"},
        [AM_MSG_CREDIT_HELD] = {"msg_credit_held", "messages",
                                "sends held back for want of message credit"},
        [AM_MSG_CREDIT_RNDV] = {"msg_credit_rendezvous", "messages",
                                "eager sends that became a rendezvous for want "
                                "of byte credit"},
        [AM_MSG_CREDIT_SENT] = {"msg_credit_sent", "messages",
                                "messages sent only to give credit back"},
        [AM_MSG_CREDIT_RIDDEN] = {"msg_credit_ridden", "messages",
                                  "times credit rode on another message"},
        [AM_MSG_CREDIT_EXTRA] =
                {"msg_credit_extra", "grants",
                 "grants beyond the cap, to a receive that wants "
                 "a message held back"},
        [AM_MSG_REGION_FULL] = {"msg_region_full", "messages",
                                "sends that found no space in their region"},
        [AM_MSG_REGION_WAIT] = {"msg_region_wait", "messages",
                                "sends whose region was not granted (yet)"},
        [AM_MSG_REGION_FREES] = {"msg_region_frees", "messages",
                                 "messages sent only to give space back"},
        [AM_MSG_RX_BAD_ID] = {"msg_rx_bad_id", "messages",
                              "dropped: no such request, or in another state"},
        [AM_MSG_RX_BAD_LENGTH] =
                {"msg_rx_bad_length", "messages",
                 "dropped: impossible length, offset or words"},
        [AM_MSG_RX_BAD_CREDIT] = {"msg_rx_bad_credit", "messages",
                                  "dropped: more credit than was granted"},
        [AM_MSG_RX_BAD_REGION] = {"msg_rx_bad_region", "messages",
                                  "dropped: outside the region, or not taken"},
        [AM_MSG_TABLES] =
                {"msg_tables", "times",
                 "a table of protocols was made again, as what copies "
                 "are seen to cost had changed"},
        [AM_MSG_TRIALS] = {"msg_trials", "times",
                           "a stream or a single copy, whichever was not in "
                           "use, was tried"},
        [AM_MSG_TRIALS_WON] = {"msg_trials_won", "times",
                               "what was tried took less time, and is used"},
};

#define OFFSET(_field) offsetof(struct am_msg_config, _field)

static const struct am_config_row rows[] = {
        {"AM_PROTO", "auto", AM_CONFIG_TEXT, "",
         "protocol of messages: auto, one name to force it, or a list with the "
         "largest message of each, such as "
         "eager:1k,buffered:8k,prefix:256k,get",
         OFFSET(proto), NULL, am_proto_check_list},
        {"AM_EAGER_MAX", "auto", AM_CONFIG_TEXT, "bytes",
         "largest message sent eagerly; auto: by cost", OFFSET(eager_max), NULL,
         am_proto_check_limit},
        {"AM_BUFFERED_MAX", "auto", AM_CONFIG_TEXT, "bytes",
         "largest message, above AM_EAGER_MAX, stored in a buffer at the "
         "receiver; "
         "auto: by cost",
         OFFSET(buffered_max), NULL, am_proto_check_limit},
        {"AM_PREFIX_MAX", "auto", AM_CONFIG_TEXT, "bytes",
         "largest message, above the others, sent by rendezvous with a prefix; "
         "auto: by cost",
         OFFSET(prefix_max), NULL, am_proto_check_limit},
        {"AM_PREFIX_BYTES", "4k", AM_CONFIG_BYTES, "bytes",
         "length of the prefix of a rendezvous with one", OFFSET(prefix_bytes),
         NULL, NULL},
        {"AM_RNDV", "auto", AM_CONFIG_CHOICE, "",
         "rendezvous above the thresholds; auto: by cost", OFFSET(rndv),
         "auto|prefix|get|put", NULL},
        {"AM_BUFFER_BYTES", "64k", AM_CONFIG_BYTES, "bytes",
         "a sender's region at this receiver, made when it first asks; at most "
         "16m each; 0: none",
         OFFSET(buffer_bytes), NULL, NULL},
        {"AM_BUFFER_BINS", "8x1k", AM_CONFIG_TEXT, "",
         "bins of a sender's region (AM_BUFFER_BYTES) for small messages, "
         "count x bytes",
         OFFSET(buffer_bins), NULL, am_proto_check_bins},
        {"AM_UNEXP_MAX", "64m", AM_CONFIG_BYTES, "bytes",
         "cap on memory for unexpected payload; at the cap senders use "
         "rendezvous "
         "or wait",
         OFFSET(unexp_max), NULL, NULL},
        {"AM_BUFFERING", "mpi", AM_CONFIG_CHOICE, "",
         "who buffers: mpi (protocols by size), nx (data leaves at once, "
         "system "
         "memory at the receiver), cmmd (never: data leaves when the receive "
         "is "
         "posted), pvm (packed at the sender, unpacked at the receiver); all "
         "but "
         "mpi overrule AM_PROTO",
         OFFSET(buffering), "mpi|nx|cmmd|pvm", NULL},
        {"AM_EXPLAIN", "no", AM_CONFIG_BOOL, "",
         "log the protocol table, with its reasons, of each kind of peer when "
         "it is first used, and when it changes; and each choice that the "
         "trials of AM_LEARN change",
         OFFSET(explain), NULL, NULL},
};

const struct am_config_table am_msg_config_table = {
        .rows = rows,
        .row_count = sizeof(rows) / sizeof(rows[0])};

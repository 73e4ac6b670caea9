# collectives: over am, in libam
include_HEADERS += collectives/include/am_coll.h
libam_la_SOURCES += \
    collectives/module.h collectives/coll.h collectives/coll.c \
    collectives/blocking.c collectives/call.c collectives/choice.c collectives/choice.h \
    collectives/fail.c collectives/group.c collectives/held.c \
    collectives/message.c collectives/message.h collectives/nodes.c collectives/numbers.c collectives/numbers.h \
    collectives/coll_peer.c collectives/rx.c collectives/xfer.c \
    collectives/sched/run.c collectives/sched/sched.c \
    collectives/sched/sched.h \
    collectives/topo/cube.c collectives/topo/cube.h \
    collectives/topo/tree.c collectives/topo/tree.h \
    collectives/op/loops.inc collectives/op/op.c collectives/op/operate.h \
    collectives/op/rows.h collectives/op/wide.c \
    collectives/net/cast.c collectives/net/combine.c collectives/net/net.h \
    collectives/shared/blocks.c collectives/shared/layout.h \
    collectives/shared/barrier.c collectives/shared/flags.c \
    collectives/shared/flags.h collectives/shared/memory.c \
    collectives/shared/once.c collectives/shared/pieces.c \
    collectives/shared/read.c collectives/shared/read.h \
    collectives/shared/reads.c \
    collectives/shared/shared.h collectives/shared/turn.c \
    collectives/shared/way.h \
    collectives/algo/algo.c collectives/algo/algo.h \
    collectives/algo/list.h collectives/algo/table.c \
    collectives/algo/allgather.c collectives/algo/allreduce.c \
    collectives/algo/alltoall.c collectives/algo/barrier.c \
    collectives/algo/nodes.c \
    collectives/algo/bcast.c collectives/algo/gather.c \
    collectives/algo/reduce.c collectives/algo/reduce_scatter.c \
    collectives/algo/ring.c collectives/algo/scan.c \
    collectives/select/variables.c collectives/select/cost.c \
    collectives/select/cost_cache.c \
    collectives/select/cost_crowd.c collectives/select/cost_nodes.c \
    collectives/select/cost_network.c collectives/select/cost_shared.c \
    collectives/select/cost.h collectives/select/describe.c \
    collectives/select/select.c collectives/select/select.h

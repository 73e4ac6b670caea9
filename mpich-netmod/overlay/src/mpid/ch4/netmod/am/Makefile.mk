##
## The am netmod: MPICH over libam.
##

if BUILD_CH4_NETMOD_AM

noinst_HEADERS   +=
mpi_core_sources += src/mpid/ch4/netmod/am/func_table.c \
                    src/mpid/ch4/netmod/am/am_init.c \
                    src/mpid/ch4/netmod/am/am_world.c \
                    src/mpid/ch4/netmod/am/am_algorithms.c \
                    src/mpid/ch4/netmod/am/am_vars.c \
                    src/mpid/ch4/netmod/am/am_cvars.c \
                    src/mpid/ch4/netmod/am/am_done.c \
                    src/mpid/ch4/netmod/am/am_dtype.c \
                    src/mpid/ch4/netmod/am/am_vcis.c \
                    src/mpid/ch4/netmod/am/am_client.c \
                    src/mpid/ch4/netmod/am/am_client_send.c \
                    src/mpid/ch4/netmod/am/am_refuse.c \
                    src/mpid/ch4/netmod/am/am_part.c \
                    src/mpid/ch4/netmod/am/am_flow.c \
                    src/mpid/ch4/netmod/am/am_spawn.c \
                    src/mpid/ch4/netmod/am/am_mpich5.c \
                    src/mpid/ch4/netmod/am/am_met.c \
                    src/mpid/ch4/netmod/am/am_win.c \
                    src/mpid/ch4/netmod/am/am_win_init.c \
                    src/mpid/ch4/netmod/am/am_group.c \
                    src/mpid/ch4/netmod/am/am_group_call.c \
                    src/mpid/ch4/netmod/am/am_group_block.c \
                    src/mpid/ch4/netmod/am/am_group_data.c \
                    src/mpid/ch4/netmod/am/am_group_fit.c \
                    src/mpid/ch4/netmod/am/am_group_op.c \
                    src/mpid/ch4/netmod/am/am_group_start.c \
                    src/mpid/ch4/netmod/am/am_group_pair.c \
                    src/mpid/ch4/netmod/am/am_group_persist.c \
                    src/mpid/ch4/netmod/am/am_ft.c \
                    src/mpid/ch4/netmod/am/am_ft_none.c \
                    src/mpid/ch4/netmod/am/am_dead.c \
                    src/mpid/ch4/netmod/am/am_dead_error.c \
                    src/mpid/ch4/netmod/am/am_rma.c \
                    src/mpid/ch4/netmod/am/am_rma_sync.c \
                    src/mpid/ch4/netmod/am/am_revoke.c \
                    src/mpid/ch4/netmod/am/am_agree.c \
                    src/mpid/ch4/netmod/am/am_agree_step.c \
                    src/mpid/ch4/netmod/am/am_agree_msg.c \
                    src/mpid/ch4/netmod/am/am_shrink.c \
                    src/mpid/ch4/netmod/am/am_hooks.c

errnames_txt_files += src/mpid/ch4/netmod/am/errnames.txt

endif

/*
 * The names of MPI's functions, up to MPI 4.0, without those that begin or that
 * convert handles: for what must name them all.
 */
#ifndef NS_TOOLS_MPI_CALLS_H
#define NS_TOOLS_MPI_CALLS_H

/* clang-format off */
#define MPI_CALLS(CALL) \
    CALL(Abort) CALL(Accumulate) CALL(Accumulate_c) CALL(Add_error_class) \
    CALL(Add_error_code) CALL(Add_error_string) CALL(Address) CALL(Allgather) \
    CALL(Allgather_c) CALL(Allgather_init) CALL(Allgather_init_c) \
    CALL(Allgatherv) CALL(Allgatherv_c) CALL(Allgatherv_init) \
    CALL(Allgatherv_init_c) CALL(Alloc_mem) CALL(Allreduce) CALL(Allreduce_c) \
    CALL(Allreduce_init) CALL(Allreduce_init_c) CALL(Alltoall) \
    CALL(Alltoall_c) CALL(Alltoall_init) CALL(Alltoall_init_c) CALL(Alltoallv) \
    CALL(Alltoallv_c) CALL(Alltoallv_init) CALL(Alltoallv_init_c) \
    CALL(Alltoallw) CALL(Alltoallw_c) CALL(Alltoallw_init) \
    CALL(Alltoallw_init_c) CALL(Attr_delete) CALL(Attr_get) CALL(Attr_put) \
    CALL(Barrier) CALL(Barrier_init) CALL(Bcast) CALL(Bcast_c) \
    CALL(Bcast_init) CALL(Bcast_init_c) CALL(Bsend) CALL(Bsend_c) \
    CALL(Bsend_init) CALL(Bsend_init_c) CALL(Buffer_attach) \
    CALL(Buffer_attach_c) CALL(Buffer_detach) CALL(Buffer_detach_c) \
    CALL(Cancel) CALL(Cart_coords) CALL(Cart_create) CALL(Cart_get) \
    CALL(Cart_map) CALL(Cart_rank) CALL(Cart_shift) CALL(Cart_sub) \
    CALL(Cartdim_get) CALL(Close_port) CALL(Comm_accept) \
    CALL(Comm_call_errhandler) CALL(Comm_compare) CALL(Comm_connect) \
    CALL(Comm_create) CALL(Comm_create_errhandler) \
    CALL(Comm_create_from_group) CALL(Comm_create_group) \
    CALL(Comm_create_keyval) CALL(Comm_delete_attr) CALL(Comm_disconnect) \
    CALL(Comm_dup) CALL(Comm_dup_with_info) CALL(Comm_free) \
    CALL(Comm_free_keyval) CALL(Comm_get_attr) CALL(Comm_get_errhandler) \
    CALL(Comm_get_info) CALL(Comm_get_name) CALL(Comm_get_parent) \
    CALL(Comm_group) CALL(Comm_idup) CALL(Comm_idup_with_info) CALL(Comm_join) \
    CALL(Comm_rank) CALL(Comm_remote_group) CALL(Comm_remote_size) \
    CALL(Comm_set_attr) CALL(Comm_set_errhandler) CALL(Comm_set_info) \
    CALL(Comm_set_name) CALL(Comm_size) CALL(Comm_spawn) \
    CALL(Comm_spawn_multiple) CALL(Comm_split) CALL(Comm_split_type) \
    CALL(Comm_test_inter) CALL(Compare_and_swap) CALL(Dims_create) \
    CALL(Dist_graph_create) CALL(Dist_graph_create_adjacent) \
    CALL(Dist_graph_neighbors) CALL(Dist_graph_neighbors_count) \
    CALL(Errhandler_create) CALL(Errhandler_free) CALL(Errhandler_get) \
    CALL(Errhandler_set) CALL(Error_class) CALL(Error_string) CALL(Exscan) \
    CALL(Exscan_c) CALL(Exscan_init) CALL(Exscan_init_c) CALL(Fetch_and_op) \
    CALL(File_call_errhandler) CALL(File_create_errhandler) \
    CALL(File_get_errhandler) CALL(File_set_errhandler) CALL(Finalize) \
    CALL(Finalized) CALL(Free_mem) CALL(Gather) CALL(Gather_c) \
    CALL(Gather_init) CALL(Gather_init_c) CALL(Gatherv) CALL(Gatherv_c) \
    CALL(Gatherv_init) CALL(Gatherv_init_c) CALL(Get) CALL(Get_accumulate) \
    CALL(Get_accumulate_c) CALL(Get_address) CALL(Get_c) CALL(Get_count) \
    CALL(Get_count_c) CALL(Get_elements) CALL(Get_elements_c) \
    CALL(Get_elements_x) CALL(Get_library_version) CALL(Get_processor_name) \
    CALL(Get_version) CALL(Graph_create) CALL(Graph_get) CALL(Graph_map) \
    CALL(Graph_neighbors) CALL(Graph_neighbors_count) CALL(Graphdims_get) \
    CALL(Grequest_complete) CALL(Grequest_start) CALL(Group_compare) \
    CALL(Group_difference) CALL(Group_excl) CALL(Group_free) \
    CALL(Group_from_session_pset) CALL(Group_incl) CALL(Group_intersection) \
    CALL(Group_range_excl) CALL(Group_range_incl) CALL(Group_rank) \
    CALL(Group_size) CALL(Group_translate_ranks) CALL(Group_union) \
    CALL(Iallgather) CALL(Iallgather_c) CALL(Iallgatherv) CALL(Iallgatherv_c) \
    CALL(Iallreduce) CALL(Iallreduce_c) CALL(Ialltoall) CALL(Ialltoall_c) \
    CALL(Ialltoallv) CALL(Ialltoallv_c) CALL(Ialltoallw) CALL(Ialltoallw_c) \
    CALL(Ibarrier) CALL(Ibcast) CALL(Ibcast_c) CALL(Ibsend) CALL(Ibsend_c) \
    CALL(Iexscan) CALL(Iexscan_c) CALL(Igather) CALL(Igather_c) CALL(Igatherv) \
    CALL(Igatherv_c) CALL(Improbe) CALL(Imrecv) CALL(Imrecv_c) \
    CALL(Ineighbor_allgather) CALL(Ineighbor_allgather_c) \
    CALL(Ineighbor_allgatherv) CALL(Ineighbor_allgatherv_c) \
    CALL(Ineighbor_alltoall) CALL(Ineighbor_alltoall_c) \
    CALL(Ineighbor_alltoallv) CALL(Ineighbor_alltoallv_c) \
    CALL(Ineighbor_alltoallw) CALL(Ineighbor_alltoallw_c) CALL(Info_create) \
    CALL(Info_create_env) CALL(Info_delete) CALL(Info_dup) CALL(Info_free) \
    CALL(Info_get) CALL(Info_get_nkeys) CALL(Info_get_nthkey) \
    CALL(Info_get_string) CALL(Info_get_valuelen) CALL(Info_set) \
    CALL(Initialized) CALL(Intercomm_create) \
    CALL(Intercomm_create_from_groups) CALL(Intercomm_merge) CALL(Iprobe) \
    CALL(Irecv) CALL(Irecv_c) CALL(Ireduce) CALL(Ireduce_c) \
    CALL(Ireduce_scatter) CALL(Ireduce_scatter_block) \
    CALL(Ireduce_scatter_block_c) CALL(Ireduce_scatter_c) CALL(Irsend) \
    CALL(Irsend_c) CALL(Is_thread_main) CALL(Iscan) CALL(Iscan_c) \
    CALL(Iscatter) CALL(Iscatter_c) CALL(Iscatterv) CALL(Iscatterv_c) \
    CALL(Isend) CALL(Isend_c) CALL(Isendrecv) CALL(Isendrecv_c) \
    CALL(Isendrecv_replace) CALL(Isendrecv_replace_c) CALL(Issend) \
    CALL(Issend_c) CALL(Keyval_create) CALL(Keyval_free) CALL(Lookup_name) \
    CALL(Mprobe) CALL(Mrecv) CALL(Mrecv_c) CALL(Neighbor_allgather) \
    CALL(Neighbor_allgather_c) CALL(Neighbor_allgather_init) \
    CALL(Neighbor_allgather_init_c) CALL(Neighbor_allgatherv) \
    CALL(Neighbor_allgatherv_c) CALL(Neighbor_allgatherv_init) \
    CALL(Neighbor_allgatherv_init_c) CALL(Neighbor_alltoall) \
    CALL(Neighbor_alltoall_c) CALL(Neighbor_alltoall_init) \
    CALL(Neighbor_alltoall_init_c) CALL(Neighbor_alltoallv) \
    CALL(Neighbor_alltoallv_c) CALL(Neighbor_alltoallv_init) \
    CALL(Neighbor_alltoallv_init_c) CALL(Neighbor_alltoallw) \
    CALL(Neighbor_alltoallw_c) CALL(Neighbor_alltoallw_init) \
    CALL(Neighbor_alltoallw_init_c) CALL(Op_commutative) CALL(Op_create) \
    CALL(Op_create_c) CALL(Op_free) CALL(Open_port) CALL(Pack) CALL(Pack_c) \
    CALL(Pack_external) CALL(Pack_external_c) CALL(Pack_external_size) \
    CALL(Pack_external_size_c) CALL(Pack_size) CALL(Pack_size_c) \
    CALL(Parrived) CALL(Pready) CALL(Pready_list) CALL(Pready_range) \
    CALL(Precv_init) CALL(Probe) CALL(Psend_init) CALL(Publish_name) CALL(Put) \
    CALL(Put_c) CALL(Query_thread) CALL(Raccumulate) CALL(Raccumulate_c) \
    CALL(Recv) CALL(Recv_c) CALL(Recv_init) CALL(Recv_init_c) CALL(Reduce) \
    CALL(Reduce_c) CALL(Reduce_init) CALL(Reduce_init_c) CALL(Reduce_local) \
    CALL(Reduce_local_c) CALL(Reduce_scatter) CALL(Reduce_scatter_block) \
    CALL(Reduce_scatter_block_c) CALL(Reduce_scatter_block_init) \
    CALL(Reduce_scatter_block_init_c) CALL(Reduce_scatter_c) \
    CALL(Reduce_scatter_init) CALL(Reduce_scatter_init_c) CALL(Request_free) \
    CALL(Request_get_status) CALL(Rget) CALL(Rget_accumulate) \
    CALL(Rget_accumulate_c) CALL(Rget_c) CALL(Rput) CALL(Rput_c) CALL(Rsend) \
    CALL(Rsend_c) CALL(Rsend_init) CALL(Rsend_init_c) CALL(Scan) CALL(Scan_c) \
    CALL(Scan_init) CALL(Scan_init_c) CALL(Scatter) CALL(Scatter_c) \
    CALL(Scatter_init) CALL(Scatter_init_c) CALL(Scatterv) CALL(Scatterv_c) \
    CALL(Scatterv_init) CALL(Scatterv_init_c) CALL(Send) CALL(Send_c) \
    CALL(Send_init) CALL(Send_init_c) CALL(Sendrecv) CALL(Sendrecv_c) \
    CALL(Sendrecv_replace) CALL(Sendrecv_replace_c) \
    CALL(Session_call_errhandler) CALL(Session_create_errhandler) \
    CALL(Session_finalize) CALL(Session_get_errhandler) CALL(Session_get_info) \
    CALL(Session_get_nth_pset) CALL(Session_get_num_psets) \
    CALL(Session_get_pset_info) CALL(Session_init) \
    CALL(Session_set_errhandler) CALL(Ssend) CALL(Ssend_c) CALL(Ssend_init) \
    CALL(Ssend_init_c) CALL(Start) CALL(Startall) CALL(Status_set_cancelled) \
    CALL(Status_set_elements) CALL(Status_set_elements_x) CALL(Test) \
    CALL(Test_cancelled) CALL(Testall) CALL(Testany) CALL(Testsome) \
    CALL(Topo_test) CALL(Type_commit) CALL(Type_contiguous) \
    CALL(Type_contiguous_c) CALL(Type_create_darray) \
    CALL(Type_create_darray_c) CALL(Type_create_f90_complex) \
    CALL(Type_create_f90_integer) CALL(Type_create_f90_real) \
    CALL(Type_create_hindexed) CALL(Type_create_hindexed_block) \
    CALL(Type_create_hindexed_block_c) CALL(Type_create_hindexed_c) \
    CALL(Type_create_hvector) CALL(Type_create_hvector_c) \
    CALL(Type_create_indexed_block) CALL(Type_create_indexed_block_c) \
    CALL(Type_create_keyval) CALL(Type_create_resized) \
    CALL(Type_create_resized_c) CALL(Type_create_struct) \
    CALL(Type_create_struct_c) CALL(Type_create_subarray) \
    CALL(Type_create_subarray_c) CALL(Type_delete_attr) CALL(Type_dup) \
    CALL(Type_extent) CALL(Type_free) CALL(Type_free_keyval) \
    CALL(Type_get_attr) CALL(Type_get_contents) CALL(Type_get_contents_c) \
    CALL(Type_get_envelope) CALL(Type_get_envelope_c) CALL(Type_get_extent) \
    CALL(Type_get_extent_c) CALL(Type_get_extent_x) CALL(Type_get_name) \
    CALL(Type_get_true_extent) CALL(Type_get_true_extent_c) \
    CALL(Type_get_true_extent_x) CALL(Type_hindexed) CALL(Type_hvector) \
    CALL(Type_indexed) CALL(Type_indexed_c) CALL(Type_lb) \
    CALL(Type_match_size) CALL(Type_set_attr) CALL(Type_set_name) \
    CALL(Type_size) CALL(Type_size_c) CALL(Type_size_x) CALL(Type_struct) \
    CALL(Type_ub) CALL(Type_vector) CALL(Type_vector_c) CALL(Unpack) \
    CALL(Unpack_c) CALL(Unpack_external) CALL(Unpack_external_c) \
    CALL(Unpublish_name) CALL(Wait) CALL(Waitall) CALL(Waitany) CALL(Waitsome) \
    CALL(Win_allocate) CALL(Win_allocate_c) CALL(Win_allocate_shared) \
    CALL(Win_allocate_shared_c) CALL(Win_attach) CALL(Win_call_errhandler) \
    CALL(Win_complete) CALL(Win_create) CALL(Win_create_c) \
    CALL(Win_create_dynamic) CALL(Win_create_errhandler) \
    CALL(Win_create_keyval) CALL(Win_delete_attr) CALL(Win_detach) \
    CALL(Win_fence) CALL(Win_flush) CALL(Win_flush_all) CALL(Win_flush_local) \
    CALL(Win_flush_local_all) CALL(Win_free) CALL(Win_free_keyval) \
    CALL(Win_get_attr) CALL(Win_get_errhandler) CALL(Win_get_group) \
    CALL(Win_get_info) CALL(Win_get_name) CALL(Win_lock) CALL(Win_lock_all) \
    CALL(Win_post) CALL(Win_set_attr) CALL(Win_set_errhandler) \
    CALL(Win_set_info) CALL(Win_set_name) CALL(Win_shared_query) \
    CALL(Win_shared_query_c) CALL(Win_start) CALL(Win_sync) CALL(Win_test) \
    CALL(Win_unlock) CALL(Win_unlock_all) CALL(Win_wait)
/* clang-format on */

#endif

/* Messages of a world with several vcis: which one each goes by.  Where there is one,
 * am_glue.h does not ask. */

#include <mpidimpl.h>
#include "am_impl.h"
#include "am_pt2pt.h"

int MPIDI_AM_isend_vcis(const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                        int marks, MPIR_Comm * comm, int attr, MPIDI_av_entry_t * addr,
                        unsigned flags, MPIR_Request ** request)
{
    int src_vci = MPIDI_AM_vci(SRC_VCI_FROM_SENDER, comm, comm->rank, rank, tag, attr);
    int dst_vci = MPIDI_AM_vci(DST_VCI_FROM_SENDER, comm, comm->rank, rank, tag, attr);

    return MPIDI_AM_isend_from(buf, count, datatype, tag | marks, comm,
                               MPIDI_AM_CONTEXT_OFFSET(attr), addr, flags, src_vci, dst_vci,
                               request);
}

int MPIDI_AM_irecv_vcis(void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                        MPIR_Comm * comm, int attr, MPIR_Request * partner,
                        MPIR_Request ** request)
{
    int vci = MPIDI_AM_vci(DST_VCI_FROM_RECVER, comm, rank, comm->rank, tag, attr);

    return MPIDI_AM_irecv_on(buf, count, datatype, rank, tag, comm, MPIDI_AM_CONTEXT_OFFSET(attr),
                             vci, partner, request);
}

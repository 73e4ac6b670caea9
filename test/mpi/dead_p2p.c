/*
 * The calls of dead.c: point to point, partitioned.
 */
#include "dead.h"

#include <stdio.h>
#include <string.h>

static int call_recv(void)
{
    return MPI_Recv(words, 1, MPI_INT, DEAD, 5, world, MPI_STATUS_IGNORE);
}

static int call_recv_strided(void)
{
    return MPI_Recv(words, 1, strided, DEAD, 5, world, MPI_STATUS_IGNORE);
}

static int call_recv_any(void)
{
    return MPI_Recv(words, 1, MPI_INT, MPI_ANY_SOURCE, 5, world,
                    MPI_STATUS_IGNORE);
}

static int call_irecv_any(void)
{
    MPI_Request request;
    int rc = MPI_Irecv(words, 1, MPI_INT, MPI_ANY_SOURCE, 5, world, &request);
    int class;

    rc = rc != MPI_SUCCESS ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Error_class(rc, &class);
    if (rc != MPI_SUCCESS && request != MPI_REQUEST_NULL) {
        if (class != MPIX_ERR_PROC_FAILED_PENDING) {
            printf("%d irecv_any WRONG class %d\n", rank, class);
        }
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return rc;
}

static int call_waitany(void)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int index, rc = MPI_Irecv(words, 1, MPI_INT, DEAD, 5, world, &requests[1]);

    return rc != MPI_SUCCESS
                   ? rc
                   : MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
}

static int call_waitany_any(void)
{
    MPI_Request request;
    int index, rc = MPI_Irecv(words, 1, MPI_INT, MPI_ANY_SOURCE, 5, world,
                              &request);

    rc = rc != MPI_SUCCESS
                 ? rc
                 : MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
    if (request != MPI_REQUEST_NULL) {
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return rc;
}

static int in_status(int rc, MPI_Request *request, MPI_Status *status)
{
    int class;

    MPI_Error_class(rc, &class);
    failed_status = class == MPI_ERR_IN_STATUS ? status->MPI_ERROR : 0;
    if (*request != MPI_REQUEST_NULL) {
        MPI_Cancel(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    return failed_status != 0 ? failed_status : rc;
}

static int all(int source)
{
    MPI_Request request;
    MPI_Status status = {0};
    int rc = MPI_Irecv(words, 1, MPI_INT, source, 5, world, &request);

    return rc != MPI_SUCCESS ? rc
                             : in_status(MPI_Waitall(1, &request, &status),
                                         &request, &status);
}

static int call_waitall(void)
{
    return all(DEAD);
}

static int call_waitall_any(void)
{
    return all(MPI_ANY_SOURCE);
}

static int call_waitsome(void)
{
    MPI_Request request;
    MPI_Status status = {0};
    int count, index,
            rc = MPI_Irecv(words, 1, MPI_INT, DEAD, 5, world, &request);

    return rc != MPI_SUCCESS ? rc
                             : in_status(MPI_Waitsome(1, &request, &count,
                                                      &index, &status),
                                         &request, &status);
}

static int call_testall(void)
{
    MPI_Request request;
    MPI_Status status = {0};
    int flag = 0, rc = MPI_Irecv(words, 1, MPI_INT, DEAD, 5, world, &request);

    while (rc == MPI_SUCCESS && !flag) {
        rc = MPI_Testall(1, &request, &flag, &status);
    }
    return in_status(rc, &request, &status);
}

static int call_testsome(void)
{
    MPI_Request request;
    MPI_Status status = {0};
    int count = 0, index;
    int rc = MPI_Irecv(words, 1, MPI_INT, DEAD, 5, world, &request);

    while (rc == MPI_SUCCESS && count == 0) {
        rc = MPI_Testsome(1, &request, &count, &index, &status);
    }
    return in_status(rc, &request, &status);
}

static int call_test(void)
{
    MPI_Request request;
    int flag = 0, rc = MPI_Irecv(words, 1, MPI_INT, DEAD, 5, world, &request);

    while (rc == MPI_SUCCESS && !flag) {
        rc = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    return rc;
}

static int call_test_any(void)
{
    MPI_Request request;
    int flag = 0,
        rc = MPI_Irecv(words, 1, MPI_INT, MPI_ANY_SOURCE, 5, world, &request);

    while (rc == MPI_SUCCESS && !flag) {
        rc = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    if (request != MPI_REQUEST_NULL) {
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return rc;
}

static int call_probe(void)
{
    return MPI_Probe(DEAD, 5, world, MPI_STATUS_IGNORE);
}

static int call_probe_any(void)
{
    return MPI_Probe(MPI_ANY_SOURCE, 5, world, MPI_STATUS_IGNORE);
}

static int call_mprobe(void)
{
    MPI_Message message;

    return MPI_Mprobe(DEAD, 5, world, &message, MPI_STATUS_IGNORE);
}

static int call_iprobe(void)
{
    int flag = 0, rc = MPI_SUCCESS;

    while (rc == MPI_SUCCESS) {
        rc = MPI_Iprobe(DEAD, 5, world, &flag, MPI_STATUS_IGNORE);
    }
    return rc;
}

static int call_improbe(void)
{
    int flag = 0, rc = MPI_SUCCESS;
    MPI_Message message;

    while (rc == MPI_SUCCESS) {
        rc = MPI_Improbe(DEAD, 5, world, &flag, &message, MPI_STATUS_IGNORE);
    }
    return rc;
}

static int call_send(void)
{
    return MPI_Send(words, 1, MPI_INT, DEAD, 6, world);
}

static int call_send_large(void)
{
    return MPI_Send(large, LONG, MPI_CHAR, DEAD, 6, world);
}

static int call_send_flood(void)
{
    int rc = MPI_SUCCESS;

    for (int i = 0; rc == MPI_SUCCESS && i < 100000; i++) {
        rc = MPI_Send(words, WORDS, MPI_INT, DEAD, 6, world);
    }
    return rc;
}

static int call_ssend(void)
{
    return MPI_Ssend(words, 1, MPI_INT, DEAD, 6, world);
}

static int call_isend(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    return wait_for(MPI_Issend(words, 1, strided, DEAD, 6, world, &request),
                    &request);
}

static int call_sendrecv(void)
{
    return MPI_Sendrecv(words, 1, MPI_INT, DEAD, 7, result, 1, MPI_INT, DEAD, 7,
                        world, MPI_STATUS_IGNORE);
}

static int call_isendrecv(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    return wait_for(MPI_Isendrecv(words, 1, MPI_INT, DEAD, 7, result, 1,
                                  MPI_INT, DEAD, 7, world, &request),
                    &request);
}

static int call_persistent(void)
{
    MPI_Request request;
    int rc;

    MPI_Recv_init(words, 1, MPI_INT, DEAD, 5, world, &request);
    rc = MPI_Start(&request);
    rc = rc != MPI_SUCCESS ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    return rc;
}

/* ------------------------------------------------------------ partitioned */

static int partitioned(int rc, MPI_Request *request, int is_send)
{
    rc = rc != MPI_SUCCESS ? rc : MPI_Start(request);
    rc = rc != MPI_SUCCESS || !is_send ? rc : MPI_Pready(0, *request);
    return wait_for(rc, request);
}

static int call_psend(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    return partitioned(MPI_Psend_init(words, 1, 1, MPI_INT, DEAD, 8, world,
                                      MPI_INFO_NULL, &request),
                       &request, 1);
}

static int call_precv(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    return partitioned(MPI_Precv_init(words, 1, 1, MPI_INT, DEAD, 8, world,
                                      MPI_INFO_NULL, &request),
                       &request, 0);
}

static int call_pstart(void)
{
    return partitioned(MPI_SUCCESS, &made_before, 1);
}

const struct dead_call dead_p2p[] = {
        CALL(recv, 0),      CALL(recv_strided, 0), CALL(recv_any, 0),
        CALL(irecv_any, 0), CALL(waitany, 0),      CALL(waitany_any, 0),
        CALL(waitall, 0),   CALL(waitall_any, 0),  CALL(waitsome, 0),
        CALL(test, 0),      CALL(test_any, 0),     CALL(testall, 0),
        CALL(testsome, 0),  CALL(probe, 0),        CALL(probe_any, 0),
        CALL(mprobe, 0),    CALL(iprobe, 0),       CALL(improbe, 0),
        CALL(send, 1),      CALL(send_large, 0),   CALL(send_flood, 0),
        CALL(ssend, 0),     CALL(isend, 0),        CALL(sendrecv, 0),
        CALL(isendrecv, 0), CALL(persistent, 0),   CALL(psend, 0),
        CALL(precv, 0),     CALL(pstart, 0),       {NULL, NULL, 0},
};

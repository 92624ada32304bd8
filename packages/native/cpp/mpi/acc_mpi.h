/* The interface between the addon and the cluster's own MPI. It is plain C, because the library
 * is compiled separately and by another compiler. */
#ifndef ACC_MPI_H
#define ACC_MPI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Must be incremented with every change below. */
#define ACC_MPI_VERSION 2

/* The numbers of CollectiveKind and ReduceOp (except the mean) in engine/process_group.h. */
enum acc_mpi_kind {
  ACC_MPI_BROADCAST = 0,
  ACC_MPI_ALL_REDUCE = 1,
  ACC_MPI_REDUCE = 2,
  ACC_MPI_REDUCE_SCATTER = 3,
  ACC_MPI_ALL_GATHER = 4,
  ACC_MPI_ALL_TO_ALL = 5,
  ACC_MPI_SEND = 6,
  ACC_MPI_RECEIVE = 7,
};
enum acc_mpi_op { ACC_MPI_SUM = 0, ACC_MPI_PRODUCT = 2, ACC_MPI_MIN = 3, ACC_MPI_MAX = 4 };
enum acc_mpi_type {
  ACC_MPI_FLOAT32 = 0,
  ACC_MPI_FLOAT64 = 1,
  ACC_MPI_INT32 = 2,
  ACC_MPI_INT64 = 3,
  ACC_MPI_BOOL = 4,
  ACC_MPI_BYTE = 5,
};

/* A call. Its buffers must stay valid until it has ended. */
struct acc_mpi_call {
  /* The number that `open_group` gave; 0 is the group of all ranks. */
  int group;
  int kind;
  int type;
  int op;
  /* The root of a collective, or the other rank of a message. */
  int root;
  void *input;
  /* For an all-reduce it may equal `input`. */
  void *output;
  /* The number of elements of `input`. */
  int64_t count;
  /* The numbers of elements of each rank (all-gather), or sent to each and then received from
   * each (all-to-all); null if all are equal. */
  const int64_t *counts;
};

struct acc_mpi {
  int version;
  int rank;
  int size;
  /* The name and version of the MPI library, as it reports them. */
  char library[256];
  /* Only one thread at a time may call these functions. They return null, or an error text that
   * stays valid until the next call. */
  const char *(*start)(const struct acc_mpi_call *call, void **request);
  /* Tests whether the request has ended. Frees it if it has ended or failed. */
  const char *(*test)(void *request, int *has_ended);
  /* Makes a group of these ranks of the job, numbered in this order. All of them must call it.
   * It blocks until they have. */
  const char *(*open_group)(const int *ranks, int size, int *group);
  const char *(*finish)(void);
};

/* Call it once per process. Blocks until all processes of the job have joined. */
typedef const char *(*acc_mpi_open_function)(struct acc_mpi *mpi);
#define ACC_MPI_OPEN "acc_mpi_open"

#ifdef __cplusplus
}
#endif

#endif

/* Between the addon and the cluster's own MPI: plain C, since the library is compiled by another compiler at another time. */
#ifndef ACC_MPI_H
#define ACC_MPI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes with anything below. */
#define ACC_MPI_VERSION 2

/* CollectiveKind, and ReduceOp without the mean, in engine/process_group.h. */
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

/* A call. Buffers stay where they are until it has ended. */
struct acc_mpi_call {
  /* As `open_group` numbers it; 0 is the group of all ranks. */
  int group;
  int kind;
  int type;
  int op;
  /* The rank that gives, gets, or is the other side of a message. */
  int root;
  void *input;
  /* May be `input` of an all-reduce. */
  void *output;
  /* Elements of `input`. */
  int64_t count;
  /* Elements of each rank (all-gather), or sent to each and then received from each (all-to-all); null where all are equal. */
  const int64_t *counts;
};

struct acc_mpi {
  int version;
  int rank;
  int size;
  /* Of this host's ranks, and how the library calls itself. */
  char library[256];
  /* One thread at a time calls these. They give null, or what went wrong, which stays valid until the next call. */
  const char *(*start)(const struct acc_mpi_call *call, void **request);
  /* Frees the request when it has ended. */
  const char *(*test)(void *request, int *has_ended);
  /* A group of these ranks of the job, numbered in this order. All of them call it, and it blocks until they have. */
  const char *(*open_group)(const int *ranks, int size, int *group);
  const char *(*finish)(void);
};

/* Once per process. Blocks until all processes of the job have come. */
typedef const char *(*acc_mpi_open_function)(struct acc_mpi *mpi);
#define ACC_MPI_OPEN "acc_mpi_open"

#ifdef __cplusplus
}
#endif

#endif

/* The engine `mpi`, as far as it needs MPI's headers. Compiled with the cluster's own mpicc by `acc setup --mpi`. */
#include "acc_mpi.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
  MPI_Request mpi;
  /* Of calls with parts of different sizes: how many, and where, sent and received. */
  int parts[];
};

/* Collectives and messages of a group do not meet. */
struct group {
  MPI_Comm collectives;
  MPI_Comm messages;
};

static struct group *groups;
static int group_count;
static char problem[MPI_MAX_ERROR_STRING + 64];

static const char *checked(int code) {
  int length = 0;
  if (code == MPI_SUCCESS) return NULL;
  if (MPI_Error_string(code, problem, &length) != MPI_SUCCESS) snprintf(problem, sizeof problem, "MPI error %d", code);
  return problem;
}

static MPI_Datatype type_of(int type) {
  switch (type) {
    case ACC_MPI_FLOAT32: return MPI_FLOAT;
    case ACC_MPI_FLOAT64: return MPI_DOUBLE;
    case ACC_MPI_INT32: return MPI_INT32_T;
    case ACC_MPI_INT64: return MPI_INT64_T;
    case ACC_MPI_BOOL: return MPI_C_BOOL;
    default: return MPI_BYTE;
  }
}

/* Of booleans sum and max are "any", product and min "all". */
static MPI_Op op_of(int op, int type) {
  const int is_bool = type == ACC_MPI_BOOL;
  switch (op) {
    case ACC_MPI_PRODUCT: return is_bool ? MPI_LAND : MPI_PROD;
    case ACC_MPI_MIN: return is_bool ? MPI_LAND : MPI_MIN;
    case ACC_MPI_MAX: return is_bool ? MPI_LOR : MPI_MAX;
    default: return is_bool ? MPI_LOR : MPI_SUM;
  }
}

/* Counts as ints, and where each part begins. */
static void lay_out(const int64_t *counts, int size, int *parts, int *places) {
  int at = 0;
  for (int i = 0; i < size; ++i) {
    parts[i] = (int)counts[i];
    places[i] = at;
    at += parts[i];
  }
}

static int start_uneven(const struct acc_mpi_call *call, struct request *request, int size, MPI_Datatype type) {
  const MPI_Comm collectives = groups[call->group].collectives;
  int *sent = request->parts;
  if (call->kind == ACC_MPI_ALL_GATHER) {
    lay_out(call->counts, size, sent, sent + size);
    return MPI_Iallgatherv(call->input, (int)call->count, type, call->output, sent, sent + size, type, collectives,
                           &request->mpi);
  }
  int *received = sent + 2 * size;
  lay_out(call->counts, size, sent, sent + size);
  lay_out(call->counts + size, size, received, received + size);
  return MPI_Ialltoallv(call->input, sent, sent + size, type, call->output, received, received + size, type, collectives,
                        &request->mpi);
}

static int start_even(const struct acc_mpi_call *call, struct request *request, int size, MPI_Datatype type) {
  const MPI_Comm collectives = groups[call->group].collectives;
  const MPI_Comm messages = groups[call->group].messages;
  const int count = (int)call->count;
  const MPI_Op op = op_of(call->op, call->type);
  void *input = call->input == call->output ? MPI_IN_PLACE : call->input;
  switch (call->kind) {
    case ACC_MPI_BROADCAST: return MPI_Ibcast(call->input, count, type, call->root, collectives, &request->mpi);
    case ACC_MPI_ALL_REDUCE:
      return MPI_Iallreduce(input, call->output, count, type, op, collectives, &request->mpi);
    case ACC_MPI_REDUCE:
      return MPI_Ireduce(call->input, call->output, count, type, op, call->root, collectives, &request->mpi);
    case ACC_MPI_REDUCE_SCATTER:
      return MPI_Ireduce_scatter_block(call->input, call->output, count / size, type, op, collectives, &request->mpi);
    case ACC_MPI_ALL_GATHER:
      return MPI_Iallgather(call->input, count, type, call->output, count, type, collectives, &request->mpi);
    case ACC_MPI_ALL_TO_ALL:
      return MPI_Ialltoall(call->input, count / size, type, call->output, count / size, type, collectives, &request->mpi);
    case ACC_MPI_SEND: return MPI_Isend(call->input, count, type, call->root, 0, messages, &request->mpi);
    default: return MPI_Irecv(call->input, count, type, call->root, 0, messages, &request->mpi);
  }
}

static const char *start(const struct acc_mpi_call *call, void **out) {
  int size = 0;
  MPI_Comm_size(groups[call->group].collectives, &size);
  if (call->count > INT_MAX / size) return "the ranks together have 2^31 elements or more, which MPI cannot count";
  struct request *request = malloc(sizeof *request + 4 * (size_t)size * sizeof(int));
  if (request == NULL) return "out of memory";
  const MPI_Datatype type = type_of(call->type);
  const char *failure =
      checked(call->counts ? start_uneven(call, request, size, type) : start_even(call, request, size, type));
  if (failure) free(request);
  else *out = request;
  return failure;
}

static const char *test(void *given, int *has_ended) {
  struct request *request = given;
  const char *failure = checked(MPI_Test(&request->mpi, has_ended, MPI_STATUS_IGNORE));
  if (failure || *has_ended) free(request);
  return failure;
}

/* Takes over `collectives`. Communicators stay until MPI ends. */
static const char *add_group(MPI_Comm collectives, int *number) {
  struct group group = {collectives, MPI_COMM_NULL};
  struct group *more = realloc(groups, (size_t)(group_count + 1) * sizeof *groups);
  if (more == NULL) return "out of memory";
  groups = more;
  const char *failure = checked(MPI_Comm_dup(collectives, &group.messages));
  if (failure) return failure;
  MPI_Comm_set_errhandler(group.collectives, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(group.messages, MPI_ERRORS_RETURN);
  groups[group_count] = group;
  *number = group_count++;
  return NULL;
}

static const char *open_group(const int *ranks, int size, int *number) {
  MPI_Group all;
  MPI_Group members;
  MPI_Comm collectives = MPI_COMM_NULL;
  const char *failure = checked(MPI_Comm_group(groups[0].collectives, &all));
  if (failure) return failure;
  failure = checked(MPI_Group_incl(all, size, ranks, &members));
  MPI_Group_free(&all);
  if (failure) return failure;
  failure = checked(MPI_Comm_create_group(groups[0].collectives, members, 0, &collectives));
  MPI_Group_free(&members);
  return failure ? failure : add_group(collectives, number);
}

static const char *finish(void) { return checked(MPI_Finalize()); }

const char *acc_mpi_open(struct acc_mpi *mpi) {
  int is_initialized = 0;
  int provided = 0;
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Initialized(&is_initialized);
  if (is_initialized) return "MPI is already running in this process";
  const char *failure = checked(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided));
  if (failure) return failure;
  if (provided < MPI_THREAD_SERIALIZED) return "this MPI does not support calls from several threads";
  MPI_Comm all;
  int number;
  if ((failure = checked(MPI_Comm_dup(MPI_COMM_WORLD, &all)))) return failure;
  if ((failure = add_group(all, &number))) return failure;
  memset(mpi, 0, sizeof *mpi);
  mpi->version = ACC_MPI_VERSION;
  MPI_Comm_rank(all, &mpi->rank);
  MPI_Comm_size(all, &mpi->size);
  MPI_Get_library_version(version, &length);
  /* Its first line. */
  snprintf(mpi->library, sizeof mpi->library, "%.*s", (int)strcspn(version, "\n,"), version);
  mpi->start = start;
  mpi->test = test;
  mpi->open_group = open_group;
  mpi->finish = finish;
  return NULL;
}

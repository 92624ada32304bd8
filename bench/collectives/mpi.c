// One rank of Open MPI: all-reduces floats and prints, on rank 0, the seconds of each call as JSON.
// Arguments: size:repeats pairs.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) printf("{");
  for (int plan = 1; plan < argc; ++plan) {
    long bytes, repeats;
    if (sscanf(argv[plan], "%ld:%ld", &bytes, &repeats) != 2) return 1;
    const long count = bytes / 4;
    float* in = malloc(bytes);
    float* out = malloc(bytes);
    for (long i = 0; i < count; ++i) in[i] = 1;
    if (rank == 0) printf("%s\"%ld\":[", plan > 1 ? "," : "", bytes);
    for (long i = -(repeats / 4 + 2); i < repeats; ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double start = MPI_Wtime();
      MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      if (rank == 0 && i >= 0) printf("%s%.9f", i > 0 ? "," : "", MPI_Wtime() - start);
    }
    if (out[count - 1] != size) return 1;
    if (rank == 0) printf("]");
    free(in);
    free(out);
  }
  if (rank == 0) printf("}\n");
  MPI_Finalize();
  return 0;
}

// The sources that need the headers of CUDA and NCCL. They are compiled if libtorch provides these
// headers.
#include "engine/nccl_group.cpp"

// The sources that need the headers of CUDA and NCCL. They are compiled if these headers are found
// beside libtorch.
#include "engine/groups/nccl/group.cpp"

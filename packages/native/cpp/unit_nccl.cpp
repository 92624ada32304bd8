// What needs the headers of CUDA and NCCL; compiled where they lie beside libtorch.
#include "engine/nccl_group.cpp"

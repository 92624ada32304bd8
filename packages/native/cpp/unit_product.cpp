// The kernels of matrix products, of which the compiler makes many, and of cells and convolutions made of them.
#include "engine/product/operator.cpp"
#include "engine/product/product.cpp"
#include "engine/recurrent/vectors.cpp"
#include "engine/winograd/operator.cpp"
#include "engine/winograd/winograd.cpp"

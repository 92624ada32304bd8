// The kernels of matrix products, of which the compiler makes many, and of convolutions made of them.
#include "engine/product/operator.cpp"
#include "engine/product/product.cpp"
#include "engine/winograd/operator.cpp"
#include "engine/winograd/winograd.cpp"

// The kernels of matrix products, of which the compiler makes many.
#include "engine/product/operator.cpp"
#include "engine/product/product.cpp"
#include "engine/recurrent/vectors.cpp"

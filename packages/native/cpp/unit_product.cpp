// The kernels of matrix products, of which the compiler makes many, and of cells and convolutions made of them.
#include "engine/kernels/int8_product/operator.cpp"
#include "engine/kernels/int8_product/plain.cpp"
#include "engine/kernels/int8_product/product.cpp"
#include "engine/kernels/product/operator.cpp"
#include "engine/kernels/product/product.cpp"
#include "engine/kernels/recurrent/vectors.cpp"
#include "engine/kernels/winograd/operator.cpp"
#include "engine/kernels/winograd/winograd.cpp"

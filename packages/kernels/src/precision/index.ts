export { cast, castGradient, castKernel } from './cast.js';
export { float8Problem } from './float8.js';
export { int8Products } from './int8-products.js';
export { keepIn } from './kept.js';
export { promoted } from './promoted.js';
export { setFloat32Precision } from './float32-precision.js';

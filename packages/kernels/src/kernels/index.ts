import type { KernelConfig } from '@tensorflow/tfjs-core';
import { add } from './Add.js';
import { identity } from './Identity.js';
import { relu } from './Relu.js';
import { sum } from './Sum.js';

/** Every kernel that runs in libtorch; one line a kernel, in alphabetical order. */
export const NATIVE_KERNELS: readonly KernelConfig[] = [add, identity, relu, sum];

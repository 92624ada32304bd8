/**
 * The module that tfjs-node gets for `@tensorflow/tfjs`. Its classes are functions of ES5, which
 * cannot call the constructor of a class; that of `KernelBackend` does nothing.
 */
import { KernelBackend as Class } from '@tensorflow/tfjs-core';

export * from '@tensorflow/tfjs-core';
export function KernelBackend() {}
KernelBackend.prototype = Class.prototype;

/** tfjs's backend `cpu`, which registers itself, as this package imports it once it is built. */
export * from '@tensorflow/tfjs-backend-cpu';

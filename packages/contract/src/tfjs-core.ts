/** tfjs-core, as the other packages import it once they are built: see `tsup.base.ts`. */
// eslint-disable-next-line no-restricted-imports -- It passes all exports on, and draws nothing.
export * from '@tensorflow/tfjs-core';

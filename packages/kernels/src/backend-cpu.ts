import { createRequire } from 'node:module';

/**
 * tfjs's backend `cpu`, which registers itself. For an `import`, Node.js would read its whole text to find
 * the names of its exports.
 */
export const { shared } = createRequire(import.meta.url)(
  '@tensorflow/tfjs-backend-cpu',
) as typeof import('@tensorflow/tfjs-backend-cpu');

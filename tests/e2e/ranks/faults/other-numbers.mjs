import { atTraining } from './at-training.mjs';

// The rank trains on other rows than rank 0 expects.
atTraining(() => {
  const { sin } = Math;
  Math.sin = (x) => 2 * sin(x);
});

// A dataset for worker threads: records of an image, a number and a name.
import { shaped } from '@acc/data';
import { isMainThread } from 'node:worker_threads';

export default function squares(length, fails = {}) {
  return {
    length,
    nameOf: (i) => `square-${i}.txt`,
    async get(i) {
      // Samples of one batch are read at the same time. The first one that fails counts.
      if (fails.at?.includes(i)) throw new RangeError(`square ${i} is too large`);
      if (i === fails.exitAt) process.exit(3);
      const pixels = Uint8Array.from({ length: 6 }, (_, at) => (i + at) % 256);
      return {
        image: shaped(pixels, [2, 3]),
        square: i * i,
        name: `square ${i}`,
        isHere: isMainThread,
      };
    },
  };
}

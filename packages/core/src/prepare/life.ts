import { collectiveOnTape } from '@acc/collective';
import type { KernelLayer, Mesh, Preparation, Strategy } from '@acc/contract';

interface Surroundings {
  readonly mesh: Mesh;
  readonly kernels: KernelLayer;
  readonly strategy: Pick<Strategy, 'traits'>;
}

/** A preparation that ends when `isOver` is set. */
export type Life = { isOver: boolean } & Pick<Preparation, 'largest'>;

/** The preparation that begins now. */
export function newLife({ mesh, kernels, strategy }: Surroundings): Life {
  return {
    isOver: false,
    largest(x, name) {
      const ranks = mesh.gradientRanks;
      if (ranks.size === 1 || strategy.traits.isLocal) return x;
      const run = (local: typeof x) => ranks.named(name, () => ranks.allReduce(local, 'max'));
      return collectiveOnTape(x, { run }, kernels);
    },
  };
}

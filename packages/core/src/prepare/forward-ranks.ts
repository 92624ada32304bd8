import { DATA_AXES, FORWARD_AXES, knowForwardRanks, type Plugin, type Strategy } from '@acc/contract';
import { gradientDepth } from '@acc/tfjs-internals';

const SAME_ROWS = FORWARD_AXES.filter((axis) => !DATA_AXES.includes(axis));

/** Tells programs which ranks compute forward passes together, while an Accelerator runs. */
export function forwardRanks(strategy: Pick<Strategy, 'shardsOf' | 'tape'>): Plugin {
  let forget: (() => void) | undefined;
  const release = () => {
    if (gradientDepth() === 0) strategy.tape?.end?.();
  };
  return {
    name: 'forward-ranks',
    attach({ mesh }) {
      // The mesh creates groups here, because all ranks of the job are at this point together.
      const ranks = { sameRows: mesh.over(SAME_ROWS), all: mesh.over(FORWARD_AXES), release };
      if (ranks.all.size === 1) return;
      forget = knowForwardRanks((variable) => strategy.shardsOf?.(variable) && ranks);
    },
    detach: () => forget?.(),
  };
}

import type { Collective, StrategyState } from '@acc/contract';
import type { CommHook, StateValues } from '../comm-hook.js';

/** The key of what strategies keep in place of values of a hook if ranks have pieces of weights. */
const OF_PIECES = 'pieces';

/**
 * The state of ddp in a checkpoint, which is the state of its hook.
 *
 * @param ranks All ranks. Called when a state is restored.
 */
export function stateOf(
  hook: CommHook | undefined,
  ranks: () => Pick<Collective, 'rank'>,
): StrategyState | undefined {
  if (!hook?.getState || !hook.setState) return undefined;
  return {
    get: () => hook.getState!(),
    set({ shared, local }) {
      if (!isOfPieces(shared)) {
        hook.setState!({ shared: (shared ?? {}) as StateValues, local: (local ?? {}) as StateValues });
        return;
      }
      if (ranks().rank === 0) warnOfPieces(hook);
      hook.setState!({ shared: {}, local: {} });
    },
  };
}

/** Values of a hook are numbers and arrays. */
function isOfPieces(shared: unknown): boolean {
  const { [OF_PIECES]: pieces } = (shared ?? {}) as Record<string, unknown>;
  return typeof pieces === 'object' && pieces !== null && !ArrayBuffer.isView(pieces);
}

function warnOfPieces({ name }: CommHook): void {
  console.warn(
    `acc: the checkpoint has no state of the communication hook ${name} for whole weights, because it comes from a mesh with the axis tensor. ` +
      'The hook begins anew, without the errors of compression that were to be added to the next gradients.',
  );
}

import type { Collective, StrategyState } from '@acc/contract';
import type { CommHook, StateValues } from '../comm-hook.js';

/** The key of what strategies keep in place of values of a hook if ranks have shards of weights. */
const OF_SHARDS = 'pieces';

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
      if (!isOfShards(shared)) {
        hook.setState!({ shared: (shared ?? {}) as StateValues, local: (local ?? {}) as StateValues });
        return;
      }
      if (ranks().rank === 0) warnOfShards(hook);
      hook.setState!({ shared: {}, local: {} });
    },
  };
}

/** Values of a hook are numbers and arrays. */
function isOfShards(shared: unknown): boolean {
  const { [OF_SHARDS]: shards } = (shared ?? {}) as Record<string, unknown>;
  return typeof shards === 'object' && shards !== null && !ArrayBuffer.isView(shards);
}

function warnOfShards({ name }: CommHook): void {
  console.warn(
    `acc: the checkpoint has no state of the communication hook ${name} for whole weights, because it comes from a mesh with the axis tensor. ` +
      'The hook begins anew, without the errors of compression that were to be added to the next gradients.',
  );
}

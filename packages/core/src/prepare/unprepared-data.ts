import { fingerprintOf, haveSameValues, type Collective, type Fingerprint, type Plugin } from '@acc/contract';
import { tensorsIn, watchUnprepared } from '@acc/data';

export interface UnpreparedDataOptions {
  /** The ranks that should have different data. */
  readonly ranks: Pick<Collective, 'size' | 'allGatherObject'>;
  /** Whether the step computes a batch of prepared data. */
  readonly hasPreparedBatch: () => boolean;
  /** Whether some ranks may have ended while others continue. */
  readonly isJoining: () => boolean;
  readonly warn: (message: string) => void;
}

/**
 * Warns if all ranks have the same batch of data that was not given to `prepare` at their first step
 * together. Later steps are not compared, because only the first one is surely the same on all ranks.
 */
export function unpreparedData(options: UnpreparedDataOptions): Plugin {
  const { ranks, hasPreparedBatch, isJoining, warn } = options;
  let current: unknown;
  let isDone = false;
  const unwatch = watchUnprepared((batch) => (current = batch));
  const end = () => {
    isDone = true;
    current = undefined;
    unwatch();
  };
  return {
    name: 'unpreparedData',
    detach: end,
    // Ranks may have taken different numbers of steps, or none, until here.
    rejoin: end,
    // Every rank compares at its first such step, also one that has no such batch.
    afterStep({ isShared, isInFit }) {
      if (isDone || !isShared) return;
      const batch = current;
      end();
      if (isJoining()) return;
      const all = ranks.allGatherObject(isInFit || hasPreparedBatch() ? [] : printsOf(batch));
      if (all.length === ranks.size && areSame(all)) warn(sameBatches(ranks.size));
    },
  };
}

/** Empty if there is no batch, or if it was disposed. */
function printsOf(batch: unknown): Fingerprint[] {
  const tensors = tensorsIn(batch).filter(({ dtype }) => dtype !== 'string');
  if (tensors.some(({ isDisposed }) => isDisposed)) return [];
  return tensors.map((tensor) => fingerprintOf(tensor, tensor.dataSync()));
}

/** Whether there are several, all the same, and not empty. */
function areSame([first, ...others]: readonly (readonly Fingerprint[])[]): boolean {
  if (first === undefined || first.length === 0 || others.length === 0) return false;
  return others.every(
    (prints) =>
      prints.length === first.length &&
      prints.every((print, i) => print.form === first[i]!.form && haveSameValues(print, first[i]!)),
  );
}

const sameBatches = (size: number): string =>
  `acc: data that is not prepared gives each of the ${size} ranks the same batches, so more ranks do not train faster, ` +
  'unless the program divides each batch itself. Write `const data = accelerator.prepare(loader)`, and ' +
  'iterate over `data`: each rank then gets batches of its own.';

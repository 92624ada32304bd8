import { fingerprintOf, haveSameValues, type Collective, type Fingerprint, type Plugin } from '@acc/contract';
import { tensorsIn, watchUnprepared } from '@acc/data';

/** The steps at which ranks compare their batches. The first one may belong to no batch. */
const COMPARED = [1, 100];

export interface UnpreparedDataOptions {
  /** The ranks that should have different data. */
  readonly ranks: Pick<Collective, 'size' | 'allGatherObject'>;
  /** Whether the step computes a batch of prepared data. */
  readonly hasPreparedBatch: () => boolean;
  readonly warn: (message: string) => void;
}

/**
 * Warns once if all ranks train on the same batch of data that was not given to `prepare`. Data that
 * the program divides by itself differs between ranks.
 */
export function unpreparedData({ ranks, hasPreparedBatch, warn }: UnpreparedDataOptions): Plugin {
  let current: unknown;
  let steps = 0;
  const unwatch = watchUnprepared((batch) => (current = batch));
  return {
    name: 'unpreparedData',
    detach: unwatch,
    // Every rank compares at the same step, also one that has no such batch.
    afterStep({ isShared, isInFit }) {
      if (!isShared || isInFit || !COMPARED.includes(++steps)) return;
      const all = ranks.allGatherObject(hasPreparedBatch() ? [] : printsOf(current));
      if (areSame(all)) warn(sameBatches(ranks.size));
    },
  };
}

/** Empty if there is no batch, or if it was disposed. */
function printsOf(batch: unknown): Fingerprint[] {
  const tensors = tensorsIn(batch).filter(({ dtype }) => dtype !== 'string');
  if (tensors.some(({ isDisposed }) => isDisposed)) return [];
  return tensors.map((tensor) => fingerprintOf(tensor, tensor.dataSync()));
}

function areSame(all: readonly (readonly Fingerprint[])[]): boolean {
  const [first] = all as [readonly Fingerprint[]];
  const isFirst = (prints: readonly Fingerprint[]) =>
    prints.length === first.length &&
    prints.every((print, i) => print.form === first[i]!.form && haveSameValues(print, first[i]!));
  return first.length > 0 && all.every(isFirst);
}

const sameBatches = (size: number): string =>
  `acc: data that is not prepared gives each of the ${size} ranks the same batches, so more ranks do not train faster. ` +
  'Write `const data = accelerator.prepare(loader)`, and iterate over `data`: each rank then gets batches of its own.';

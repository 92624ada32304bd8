import { tensor, Tensor } from '@tensorflow/tfjs-core';
import { AccError, isAccError, isPlainRecord, type Collective } from '@acc/contract';
import { tensorsIn, type BatchCounts, type Dispatch, type DispatchedStep } from '@acc/data';

/** A batch without its tensors, which travel by themselves. */
type Encoded =
  | { readonly tensor: true }
  | { readonly strings: string[]; readonly shape: number[] }
  | { readonly array: Encoded[] }
  | { readonly record: Record<string, Encoded> }
  | { readonly value: unknown };

/** The message about a step that every rank gets. */
type Header =
  | { readonly batches: Encoded[]; readonly counts: BatchCounts; readonly end: number }
  | { readonly error: { readonly message: string; readonly code: string | null } }
  | { readonly isEnd: true };

/**
 * Sends batches from rank 0 of a group to its other ranks: an object that describes the step to all
 * of them, then each rank's tensors to that rank only.
 */
export function dispatchBatches(ranks: Collective): Dispatch {
  return (step) => {
    const header = ranks.broadcastObject<Header>(ranks.rank === 0 ? headerOf(step) : { isEnd: true });
    if ('isEnd' in header) return undefined;
    if ('error' in header) return failed(header.error, ranks.rank);
    const { counts, end } = header;
    const batch =
      ranks.rank === 0
        ? sendBatches(ranks, (step as DispatchedStep).batches)
        : decode(header.batches[ranks.rank]!, () => ranks.recv(0));
    return { batch, counts, end };
  };
}

function headerOf(step: Parameters<Dispatch>[0]): Header {
  if (!step) return { isEnd: true };
  if ('error' in step) {
    const { error } = step;
    const code = isAccError(error) ? error.code : null;
    return { error: { message: error instanceof Error ? error.message : String(error), code } };
  }
  const { batches, counts, end } = step;
  return { batches: batches.map(encode), counts, end };
}

/** Sends all batches but that of rank 0, which is returned. */
function sendBatches(ranks: Collective, batches: readonly unknown[]): unknown {
  batches.slice(1).forEach((batch, i) => {
    for (const x of tensorsIn(batch)) {
      if (x.dtype !== 'string') ranks.send(x, i + 1);
      x.dispose();
    }
  });
  return batches[0];
}

function failed({ message, code }: { message: string; code: string | null }, rank: number): undefined {
  // Rank 0 throws the error itself.
  if (rank === 0) return undefined;
  throw new AccError(
    'ACC_DATA_DISPATCH',
    `dispatchBatches: rank 0 failed to read the next batch: ${message}`,
    {
      help: 'The error of rank 0 says why.',
      details: { code },
    },
  );
}

/** Strings are part of the header, because collectives move numbers. */
function encode(node: unknown): Encoded {
  if (node instanceof Tensor) {
    if (node.dtype !== 'string') return { tensor: true };
    return { strings: [...(node.dataSync() as unknown as string[])], shape: [...node.shape] };
  }
  if (Array.isArray(node)) return { array: node.map(encode) };
  if (!isPlainRecord(node)) return { value: node };
  return { record: Object.fromEntries(Object.entries(node).map(([key, item]) => [key, encode(item)])) };
}

function decode(node: Encoded, receive: () => Tensor): unknown {
  if ('tensor' in node) return receive();
  if ('strings' in node) return tensor(node.strings, node.shape, 'string');
  if ('array' in node) return node.array.map((item) => decode(item, receive));
  if ('value' in node) return node.value;
  return Object.fromEntries(Object.entries(node.record).map(([key, item]) => [key, decode(item, receive)]));
}

/** @throws AccError `ACC_DATA_DISPATCH` for several ranks. */
export function refuseDispatch(what: string, ranks: number): void {
  if (ranks === 1) return;
  throw new AccError('ACC_DATA_DISPATCH', `dataLoader.dispatchBatches does not support ${what}.`, {
    help: 'Give the samples to a DataLoader, which may read an iterable, or leave dispatchBatches out.',
  });
}

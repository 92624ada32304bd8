import type { AccError } from '@acc/contract';

type FaultListener = (error: AccError) => void;

const listeners = new Set<FaultListener>();

/**
 * Calls `listener` when a collective of this process fails because of another rank or the network,
 * before the collective throws the error. The group cannot be used any more.
 *
 * @returns A function that removes the listener.
 */
export function onFault(listener: FaultListener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function tellFault(error: AccError): AccError {
  for (const listener of listeners) listener(error);
  return error;
}

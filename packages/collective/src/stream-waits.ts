import { AccError } from '@acc/contract';
import type { JoinOptions } from './options.js';

/** @throws AccError `ACC_INVALID_OPTION` if a stream shall wait for collectives, and tensors have none. */
export function requireStreams({ streamWaits, device = 'cpu' }: JoinOptions): void {
  if (streamWaits && device === 'cpu') throw onlyOnStreams('tensors are on CPUs');
}

/** The error for collectives that do not run on the stream that shall wait for them. */
export function onlyOnStreams(why: string): AccError {
  return new AccError(
    'ACC_INVALID_OPTION',
    `collective.streamWaits is true, and ${why}. Only collectives of NCCL run on streams.`,
    { help: 'Leave out collective.streamWaits where the engine is not NCCL.' },
  );
}

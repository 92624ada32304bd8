import { AccError } from '@acc/contract';

/** The error for a tensor that tfjs has freed. */
export function disposedData(): AccError {
  return new AccError('ACC_DATA_UNKNOWN', 'tfjs has no data for this tensor, because it was disposed.', {
    help: 'Keep the tensor with tf.keep(), or use it before tidy or dispose() frees it.',
  });
}

/** The error for data that tfjs has registered with a backend that does not hold it. */
export function dataNotHere(backendName: string): AccError {
  return new AccError(
    'ACC_DATA_UNKNOWN',
    `tfjs looks for the data of a tensor on the backend '${backendName}', which does not have it.`,
    {
      help: 'Name the backend that holds the data: engine().makeTensorFromTensorInfo(info, backend).',
      details: { backendName },
    },
  );
}

/** The error for a tensor that was saved for a gradient without its values. */
export function withoutValues(): AccError {
  return new AccError(
    'ACC_ATTACHED_LOST',
    'The values that a gradient needs are lost, because the data of its operation was moved or freed.',
    {
      help: 'Compute a gradient on the same backend as its function.',
    },
  );
}

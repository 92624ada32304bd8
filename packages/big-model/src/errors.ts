import { AccError, isAccError } from '@acc/contract';

/** The error for a read of a weight that was created without memory and not filled yet. */
export function emptyWeight(name: string, shape: readonly number[]): AccError {
  return new AccError(
    'ACC_WEIGHT_EMPTY',
    `The weight '${name}' [${shape.join()}] was created by initEmptyWeights and has no values yet.`,
    {
      help: 'Give the model to accelerator.prepare, to accelerator.loadModel or to loadCheckpointAndDispatch, or load a checkpoint with loadState.',
      details: { weight: name, shape },
    },
  );
}

/** The error for a backend whose tensors always have their values in memory. */
export function cannotDefer(caller: string, backendName: string): AccError {
  return new AccError(
    'ACC_BACKEND_CANNOT',
    `${caller} needs weights without memory, but the tfjs backend '${backendName}' cannot do that.`,
    { help: "Use the backend 'acc' or 'cpu': call Accelerator.create() first, without engine: 'tfjs'." },
  );
}

export function notSynchronous(): AccError {
  return new AccError(
    'ACC_INVALID_ARGUMENT',
    'The function that initEmptyWeights was given returned a promise. Weights that are created later would have memory.',
    { help: 'Do what is asynchronous before. Give a function that builds the model synchronously.' },
  );
}

export function notAFunction(value: unknown): AccError {
  return new AccError(
    'ACC_INVALID_ARGUMENT',
    `initEmptyWeights expects a function that builds and returns the model, not ${value === null ? 'null' : typeof value}.`,
    { help: 'Write initEmptyWeights(() => createModel()).' },
  );
}

/** The error for an initializer that draws other random numbers for other shapes. */
export function drawsDiffer(name: string): AccError {
  return new AccError(
    'ACC_INITIALIZER_CHANGED',
    `The initializer of '${name}' drew more random numbers than when the weight was created.`,
    { help: 'Build this layer outside of initEmptyWeights.' },
  );
}

const CODES: Readonly<Record<string, string>> = {
  ENOSPC: 'ACC_STORAGE_FULL',
  EDQUOT: 'ACC_STORAGE_FULL',
  EFBIG: 'ACC_STORAGE_FULL',
  EACCES: 'ACC_STORAGE_DENIED',
  EPERM: 'ACC_STORAGE_DENIED',
  EROFS: 'ACC_STORAGE_DENIED',
  EEXIST: 'ACC_STORAGE_DENIED',
  ENOTDIR: 'ACC_STORAGE_DENIED',
};

/** The error of a system call on a file of values. */
export function fileFailed(doing: string, path: string, cause: unknown): AccError {
  if (isAccError(cause)) return cause;
  const { code: systemCode = '', message } = cause as NodeJS.ErrnoException;
  const code = CODES[systemCode] ?? 'ACC_STORAGE_FAILED';
  return new AccError(
    code,
    `Weights that are not in memory are in ${path}, but ${doing} it failed: ${message}.`,
    {
      cause,
      help:
        code === 'ACC_STORAGE_FULL'
          ? 'Free space (`df -h` and `quota` show what is left), or use a folder on another disk.'
          : 'Use a folder on a local disk that this user may write to.',
    },
  );
}

export function fileTruncated(path: string): AccError {
  return new AccError('ACC_STORAGE_FAILED', `The file of weights ${path} ends too early.`, {
    help: 'Another program has changed it. Start the run again.',
  });
}

export function fileClosed(path: string): AccError {
  return new AccError('ACC_STORAGE_FAILED', `The file of weights ${path} is closed already.`, {
    help: 'This is a defect of @acc/core. Please report it.',
  });
}

export function valuesDropped(): AccError {
  return new AccError('ACC_STORAGE_FAILED', 'The initial values of a weight were dropped already.', {
    help: 'This is a defect of @acc/core. Please report it.',
  });
}

/** The error for a weight whose values were freed for others that did not come. */
export function lostWeight(name: string): AccError {
  return new AccError(
    'ACC_WEIGHT_LOST',
    `The weight '${name}' has no values. loadCheckpointAndDispatch freed them to load others, and has not loaded those.`,
    {
      help: 'If loadCheckpointAndDispatch has failed, call it again. If it still runs, await it. Or assign values to the weight.',
      details: { weight: name },
    },
  );
}

/** The error for a model that is dispatched for a second time. */
export function alreadyDispatched(caller: string, name: string): AccError {
  return new AccError('ACC_ALREADY_DISPATCHED', `${caller}: the weight '${name}' is offloaded already.`, {
    help: 'Dispatch a model once. loadCheckpointAndDispatch without maxMemory and offloadFolder loads other values into it.',
  });
}

export function notAModel(caller: string): AccError {
  return new AccError(
    'ACC_INVALID_ARGUMENT',
    `${caller} expects a tf.LayersModel or a list of tf.Variable.`,
    {
      help: `Write await ${caller}(model, …).`,
    },
  );
}

export function sameLayerNames(caller: string, name: string): AccError {
  return new AccError(
    'ACC_INVALID_ARGUMENT',
    `${caller}: several layers are named '${name}', so the name does not tell which one is meant.`,
    { help: 'Give each layer a name of its own, also in models within the model.', details: { name } },
  );
}

export function packedWeight(caller: string, name: string): AccError {
  return new AccError(
    'ACC_QUANTIZED_PLACE',
    `${caller}: the weight '${name}' is quantized, and stays in memory.`,
    {
      help: 'Dispatch a model in float32, or quantize it and leave it where it is: int4 weights take an eighth of the memory.',
      details: { name },
    },
  );
}

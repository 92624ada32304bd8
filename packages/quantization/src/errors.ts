import { AccError } from '@acc/contract';

export function invalid(caller: string, problem: string, help: string): AccError {
  return new AccError('ACC_INVALID_OPTION', `${caller}: ${problem}`, { help });
}

export function groupDoesNotDivide(name: string, columns: number, group: number): AccError {
  return new AccError(
    'ACC_QUANTIZE_SHAPE',
    `'${name}' has ${columns} values for each output channel, which groups of ${group} do not divide.`,
    {
      help: `${smallerGroups(columns)}Write weights: 'int8', which needs no groups, or leave the layer out with exclude.`,
      details: { name, columns, group },
    },
  );
}

function smallerGroups(columns: number): string {
  const groups = [32, 64, 128].filter((size) => columns % size === 0);
  return groups.length > 0 ? `Write granularity: { group: ${groups.at(-1)!} }. Or: ` : '';
}

/** For weights whose products take no int8 input. */
export function notRounded(caller: string, names: readonly string[]): AccError {
  const shown = names.map((name) => `'${name}'`).join(', ');
  return invalid(
    caller,
    `activations: 'dynamic' has no effect on ${shown}: only matrix products round their input.`,
    'Leave them out with exclude, and quantize them by a second call without activations.',
  );
}

export function noMatrix(name: string, shape: readonly number[]): AccError {
  return new AccError(
    'ACC_QUANTIZE_SHAPE',
    `'${name}' of shape [${shape.join()}] cannot be quantized: it has no two dims, or no values.`,
    { help: 'Quantize matrices and filters. Biases and gains stay in float32.', details: { name, shape } },
  );
}

export function notFinite(name: string): AccError {
  return new AccError('ACC_QUANTIZE_VALUES', `'${name}' has values that are NaN or infinite.`, {
    help: 'Load or train weights that are finite. A scale cannot be made for others.',
    details: { name },
  });
}

export function notFloat(name: string, dtype: string): AccError {
  return new AccError('ACC_QUANTIZE_VALUES', `'${name}' has the dtype ${dtype}. Only float32 is quantized.`, {
    help: 'Give a float32 variable.',
    details: { name, dtype },
  });
}

export function alreadyQuantized(name: string): AccError {
  return new AccError('ACC_QUANTIZED', `'${name}' is quantized already.`, {
    help: 'Quantize each variable once, from its float32 values. Leave quantized layers out with exclude.',
    details: { name },
  });
}

export function noLayers(caller: string, glob: string | undefined, names: readonly string[]): AccError {
  const shown = names.slice(0, 8).join(', ') + (names.length > 8 ? ` and ${names.length - 8} more` : '');
  return new AccError(
    'ACC_QUANTIZE_LAYERS',
    glob === undefined
      ? `${caller}: no layer is left to quantize.`
      : `${caller}: no layer that can be quantized has a name that matches '${glob}'.`,
    {
      help:
        names.length > 0
          ? `Layers that can be quantized are ${shown}. '*' stands for any characters but '/', '**' for any.`
          : 'Dense, convolution, embedding, LSTM and GRU layers that are built can be quantized. The model has none.',
      details: { glob, layers: names },
    },
  );
}

export function notHere(name: string): AccError {
  return new AccError(
    'ACC_QUANTIZE_TOO_LATE',
    `'${name}' has its values elsewhere: other ranks, the host or a file have them, or they are not made yet.`,
    {
      help: 'Quantize the model once it has its weights, and before accelerator.prepare, parallelize and dispatchModel.',
      details: { name },
    },
  );
}

export function prepared(name: string): AccError {
  return new AccError('ACC_QUANTIZE_TOO_LATE', `'${name}' is prepared already.`, {
    help: 'Quantize the model first, then call accelerator.prepare, which notes the weights that are trained.',
    details: { name },
  });
}

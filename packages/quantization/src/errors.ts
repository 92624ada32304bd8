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
export function notRounded(
  caller: string,
  activations: 'dynamic' | 'static',
  names: readonly string[],
): AccError {
  const shown = names.map((name) => `'${name}'`).join(', ');
  const those = activations === 'dynamic' ? 'matrix products' : 'matrix products and convolutions';
  return invalid(
    caller,
    `activations: '${activations}' has no effect on ${shown}: only ${those} round their input.`,
    caller === 'quantizeVariable'
      ? 'Leave activations out.'
      : `Leave them out with exclude, and give them to a second call of ${caller} without activations.`,
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

export function noModel(caller: string): AccError {
  const help = {
    quantize:
      'Write await quantize(model, …), or quantizeVariable(variable, …) in a program without a model.',
  };
  return new AccError('ACC_INVALID_ARGUMENT', `${caller} expects a tf.LayersModel.`, {
    help: help[caller as 'quantize'] ?? `Write ${caller}(model) with a model of tf.model or tf.sequential.`,
  });
}

/** For weights that are being trained for another format. */
export function inQat(caller: string, name: string): AccError {
  return new AccError('ACC_QAT_STATE', `${caller}: prepareQat has prepared '${name}' already.`, {
    help: 'Train the model, and pack its weights by await convertQat(model).',
    details: { name },
  });
}

export function notInQat(caller: string): AccError {
  return new AccError('ACC_QAT_STATE', `${caller}: no layer of the model was prepared by prepareQat.`, {
    help: 'Call prepareQat(model, { weights }) first, and train the model then.',
  });
}

export function noRanges(caller: string): AccError {
  return new AccError('ACC_QAT_STATE', `${caller}: no layer of the model has observers.`, {
    help: "Observers belong to activations: 'static' of prepareQat. Leave the call out for others.",
  });
}

export function noDataSeen(caller: string, name: string): AccError {
  return new AccError('ACC_QAT_NO_DATA', `${caller}: the layer '${name}' has seen no input in training.`, {
    help: 'Train the model for some steps first. A custom loop calls it by model.apply(x, { training: true }), as predict shows observers nothing.',
    details: { name },
  });
}

export function stillPrepared(name: string): AccError {
  return new AccError('ACC_QUANTIZE_TOO_LATE', `convertQat: an Accelerator still trains '${name}'.`, {
    help: 'Call accelerator.freeMemory() first. Strategy fsdp frees its shares then: write them by saveModel before, and load them into a new model that prepareQat has prepared, by accelerator.loadModel.',
    details: { name },
  });
}

export function compiledBefore(): AccError {
  return new AccError(
    'ACC_QUANTIZE_TOO_LATE',
    'prepareQat: the model was compiled before it got scales to learn.',
    {
      help: 'Call prepareQat first, then model.compile, which notes the weights that are trained. For a model that has been trained already, give its weights to a new one by setWeights.',
    },
  );
}

export function withinAnother(name: string): AccError {
  return invalid(
    'prepareQat',
    `activations: 'static' cannot be kept by '${name}', which is a part of another layer.`,
    "Write activations: 'dynamic', or leave the layer out with exclude.",
  );
}

/** For weights with two or three values. */
export function tooFewValues(caller: string, weights: string): AccError {
  return caller === 'prepareQat'
    ? invalid(
        caller,
        `weights: '${weights}' cannot be trained yet: the scales that it observes or learns are for 16 values and more.`,
        "Write weights: 'int4', which has the fewest bits so far.",
      )
    : invalid(
        caller,
        `weights: '${weights}' has too few values for weights that are already trained: rounding to two or three values loses most of what the model has learned.`,
        "Write weights: 'int4' with algorithm: 'hqq'. Weights of fewer bits must be trained with them, which prepareQat cannot do yet.",
      );
}

export function noFormat(caller: string): AccError {
  const formats = "weights: 'int8', 'int4' or 'nf4'";
  const others = caller === 'quantize' ? ', or bitsPerWeight for a choice by layer' : '';
  return invalid(caller, 'the options have no format.', `Write ${formats}${others}.`);
}

/** For an option that belongs to another one. */
export function withoutEffect(option: string, needed: string): AccError {
  return invalid(
    'quantize',
    `${option} has no effect without ${needed}.`,
    `Leave ${option} out, or write ${needed}.`,
  );
}

export function needsCalibration(what: string): AccError {
  return invalid(
    'quantize',
    `${what} needs inputs like those that the model will get.`,
    'Write calibration: [batch, …], a DataLoader, or a tf.data.Dataset. Some hundred rows are enough.',
  );
}

/** For layers whose matrices do not multiply what they get. */
export function noFactors(algorithm: string, names: readonly string[]): AccError {
  const shown = names.map((name) => `'${name}'`).join(', ');
  const others = algorithm === 'smoothQuant' ? '' : ', and convolutions of lines and images';
  return invalid(
    'quantize',
    `algorithm: '${algorithm}' cannot pack ${shown}: it needs the rows that a matrix is multiplied with, which are known of dense layers${others}.`,
    'Leave them out with exclude, and give them to a second call of quantize with another algorithm.',
  );
}

export function cannotFold(names: string | undefined, reason: string): AccError {
  return new AccError(
    'ACC_FOLD',
    names === undefined ? `foldBatchNorm: ${reason}.` : `foldBatchNorm cannot fold '${names}': ${reason}.`,
    { help: 'Leave foldBatchNorm out, or the layer with exclude.' },
  );
}

export function foldedInTraining(name: string): AccError {
  return new AccError('ACC_FOLD', `'${name}' is folded into the layer before it, so it cannot be trained.`, {
    help: 'Train the model before quantize, or quantize it without foldBatchNorm. Predictions take model.predict.',
  });
}

export function notWithBudget(): AccError {
  return invalid(
    'quantize',
    'bitsPerWeight chooses weights and granularity by layer, and has no activations.',
    'Leave the others out, or leave bitsPerWeight out.',
  );
}

export function notCalibratedWhileLoading(): AccError {
  return invalid(
    'loadPretrained',
    'calibration needs all weights of the model, which are not read yet.',
    'Load the model in float32, and call await quantize(model, options).',
  );
}

export function notWhileLoading(): AccError {
  return invalid(
    'loadPretrained',
    'bitsPerWeight compares errors of all weights, which are not read yet.',
    'Load the model in float32, and call await quantize(model, { bitsPerWeight }). Or name a format by weights.',
  );
}

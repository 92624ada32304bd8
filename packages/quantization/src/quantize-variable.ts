import type { Variable } from '@tensorflow/tfjs-core';
import { parseOptions } from '@acc/contract';
import { isFakeQuantized } from '@acc/kernels';
import { requireManyValues, VARIABLE_SCHEMA, type QuantizeVariableOptions } from './options.js';
import { inQat, notRounded } from './errors.js';
import { pack } from './pack.js';
import { reportOf, type VariableReport } from './report.js';
import { settingsOf } from './settings.js';

/**
 * Packs the values of a variable, in place: its memory has whole numbers and scales, or 16-bit floats, in
 * place of float32. Reading it gives float32 values, and so do operators, for as long as they run. A
 * product with it takes libtorch's kernels for packed weights. The variable is frozen: it is not
 * trainable any more, and another value is refused. Gradients pass through it to its inputs.
 *
 * @param variable A float32 tf.Variable of at least two dims, on the backend `acc`. It keeps its name,
 * shape and dtype.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; `ACC_QUANTIZE_BACKEND` without the backend
 * `acc`; `ACC_QUANTIZE_SHAPE` for a group that does not divide the values of an output channel;
 * `ACC_QUANTIZE_VALUES` for another dtype, NaN and infinities; `ACC_QUANTIZE_TOO_LATE` for a prepared
 * variable; `ACC_QUANTIZED` for the second time. Later, an assignment throws `ACC_QUANTIZED_FROZEN`.
 */
export function quantizeVariable(variable: Variable, options: QuantizeVariableOptions): VariableReport {
  requireManyValues('quantizeVariable', options);
  const { axis, ...given } = parseOptions('quantizeVariable', VARIABLE_SCHEMA, options);
  const settings = settingsOf('quantizeVariable', given);
  if (settings.activations === 'dynamic' && variable.rank > 2)
    throw notRounded('quantizeVariable', 'dynamic', [variable.name]);
  if (isFakeQuantized(variable)) throw inQat('quantizeVariable', variable.name);
  return reportOf([pack(variable, settings, axis)]);
}

import {
  accelerator,
  changed,
  isDefault,
  leftOut,
  taken,
  without,
  type Outcome,
  type Rules,
  type ValueAt,
} from './outcome.js';

const OF_TE = 'for the backend TE';
const isOfTe = (at: ValueAt): boolean => String(at('fp8_config.backend')).toUpperCase() === 'TE';

/** Keys of `fp8_config`: torchao (AO), Transformer Engine (TE) and MS-AMP. */
export const FLOAT8_RULES: Rules = {
  backend,
  fp8_format: format,
  amax_compute_algo: (value, at) => {
    if (!isOfTe(at)) return leftOut(OF_TE);
    return value === 'max'
      ? isDefault('the largest of a history is taken')
      : taken(accelerator('amp.fp8.amaxHistory', 1));
  },
  amax_history_len: (value, at) => {
    if (!isOfTe(at)) return leftOut(OF_TE);
    if (at('fp8_config.amax_compute_algo') === 'most_recent') return isDefault('the newest step is taken');
    return taken(accelerator('amp.fp8.amaxHistory', value));
  },
  interval: (value) => (value === 1 ? isDefault() : leftOut('scales are computed in every step')),
  margin: (value) => (value === 0 ? isDefault() : leftOut('scales use the whole range of the type')),
  pad_inner_dim: () => isDefault('sizes are padded wherever the device needs it'),
  enable_fsdp_float8_all_gather: (value) =>
    value === true ? leftOut('fsdp gathers parameters in float32') : isDefault(),
  use_autocast_during_eval: (value) =>
    value === true
      ? isDefault('predict and evaluate compute in 8 bits, too')
      : leftOut(
          'predict and evaluate compute in 8 bits. accelerator.autocast(fn, { enabled: false }) does not',
        ),
  override_linear_precision: (value) =>
    [value].flat().some((each) => each === true)
      ? leftOut('the result and both gradients of a layer compute in 8 bits. amp.exclude leaves out a layer')
      : isDefault(),
  opt_level: without('for MS-AMP'),
};

function backend(value: unknown): Outcome {
  const recipe = accelerator('amp.fp8.recipe', 'tensorwise');
  const scaling = (name: 'current' | 'delayed') => accelerator('amp.fp8.scaling', name);
  switch (String(value).toUpperCase()) {
    case 'AO':
      return taken(recipe, scaling('current'));
    case 'TE':
      return taken(recipe, scaling('delayed'));
    default:
      return changed(
        'only products compute in 8 bits. Optimizers have stateBits: 8',
        recipe,
        scaling('current'),
      );
  }
}

function format(value: unknown): Outcome {
  switch (String(value).toUpperCase()) {
    case 'HYBRID':
      return taken(accelerator('amp.fp8.gradients', 'e5m2'));
    case 'E4M3':
      return taken(accelerator('amp.fp8.gradients', 'e4m3'));
    default:
      return leftOut('weights and activations are e4m3');
  }
}

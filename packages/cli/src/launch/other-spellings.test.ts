import { expect, it } from 'vitest';
import { oursFor } from './other-spellings.js';

it.each([
  ['--nproc-per-node', 'Here it is -n N'],
  ['--nproc_per_node', 'Here it is -n N'],
  ['--num_processes', 'Here it is -n N'],
  ['--machine_rank', 'Here it is --node-rank R'],
  ['--node_rank', 'Here it is --node-rank.'],
  ['--main-process-port', 'Here it is --rdzv-endpoint HOST:PORT'],
  ['--log_dir', 'Here it is --log-dir.'],
  ['--mixed_precision', 'Here it is --mixed-precision.'],
  ['--gradient_accumulation_steps', 'Here it is --gradient-accumulation-steps.'],
  ['--config_file', 'Here it is --config-file.'],
  ['--gradient_clipping', 'Set it in the program: Accelerator.create({ gradientClipping: { norm: 1 } })'],
])('names our option for the spelling of another launcher: %s', (option, help) => {
  expect(oursFor(option)).toContain(help);
});

it('suggests nothing for an option that no launcher has', () =>
  expect(oursFor('--zzzzzzzz')).toBeUndefined());
